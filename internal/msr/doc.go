// Package msr opens the processor's counters for a measured process: core
// cycles, APERF and MPERF, and what else comes with the same reading.
//
//  1. [Open] tries the configured sources in order and opens the first that
//     works. Its [Reason] says which, and why each one before it does not.
//  2. [Counters.Apply] completes the plan of the shared buffer with the columns
//     and with the groups by which libkrun reads them.
//  3. [Counters.Files] are handed over to the measured process. It needs no
//     capability: the open descriptor is enough to read.
//  4. [Counters.Close] closes them and restores the control registers.
//
// The sources:
//
//   - perf: a perf event group per core, or one per task that its children
//     inherit. APERF and MPERF come from the kernel's msr PMU, cycles from that
//     of the core (of the right kind on hybrid processors). Groups are pinned: a
//     group that loses its counters fails instead of being multiplexed.
//   - msr: the devices /dev/cpu/N/msr, a read for each register, in which the thread
//     sleeps. Fixed counter 1 is programmed for the cycles and restored afterwards.
//   - rdpmc: a perf event of the benchmark's first thread only, read in user space.
//   - none: the clock only.
//
// [Probe] reports which sources are available and changes nothing.
//
// What the sources need, when they fail, and what they cost is in
// docs/counters.md. The facts about registers are from the Intel Software
// Developer's Manual, volumes 3B (20: performance monitoring) and 4; those about
// perf from perf_event_open(2) and the kernel's arch/x86/events/msr.c.
//
// The package never reads a counter during a measurement (libkrun does) and
// never judges one (internal/execution/verdict does). Energy of the processor's package is
// in energy.go.
//
// Start reading at Open.
package msr
