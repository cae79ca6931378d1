// Package integrity compares everything in an experiment's directory with
// everything else: the schedule's checksums, the records, what the two say about
// each other, and the configuration that both came from. Check only reads and
// returns a list of problems, each with what to do about it. Mend does what can
// be done without losing anything: whatever it replaces is kept under a name
// that ends in .broken.
//
// Check may run while krund does. Then it passes over what is only half done:
// the slot that krund is working on. Start reading at Check, and at Mend for what a repair changes.
package integrity
