// Package control prepares a machine for trustworthy measurements, verifies each setting by reading
// it back, and restores the machine afterwards.
//
// Each setting (a Control) is a small file of its own: aslr.go, governor.go, turbo.go,
// irqaffinity.go, ... A control works in three parts:
//
//  1. It reads a few kernel files and parses them (parsers are pure and compiled on every system).
//  2. It plans: what was found, what is wanted, and the Steps that lead there. A plan only reads.
//  3. An engine that all controls share (apply.go) writes the steps to the Journal and syncs it,
//     makes each change, reads it back, and restores all of them when one fails. A control is
//     applied completely or not at all.
//
// A step holds what is needed to restore it. So krund itself, `krunctl repair --machine` after a
// crash (restore.go) and the guard that outlives krund (package guard) use the same code. A step of
// another boot is void: no setting that krund changes survives a reboot, because krund writes no
// file that is read at boot and enables, disables or masks no service. Only the account for
// benchmarks survives.
//
// Checks return Findings, which a Table prints. A machine that is unfit to measure yields Problems,
// each with a fix; an error means that a check or a change itself failed.
//
// Each control declares itself in a Descriptor in its own file; list.go lists them in the order of
// work. The configuration's parser, `krunctl check` and the documentation are derived from the
// descriptors. Start at Linux (list.go), then CheckAll and ApplyAll in apply.go. To add a control,
// write x.go with its descriptor and x_test.go, add a line to the list, and run `make generate`.
package control
