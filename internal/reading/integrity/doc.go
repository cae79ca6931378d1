// Package integrity checks the consistency of an experiment's directory: the checksums of the
// schedule, the records, the agreement of both, and the configuration that both came from. Check
// only reads and returns a list of problems, each with a fix. Mend repairs what can be repaired
// without losing anything: it keeps what it replaces under a name that ends in .broken.
//
// Check may run while krund does. It then ignores unfinished work: the slot that krund is working
// on. Start reading at Check; see Mend for repairs.
package integrity
