// Package switches finds out who else ran on the benchmark's processors during a process
// execution, from the kernel's records of each context switch.
//
//  1. [Open] opens a perf event without a count on each processor, with memory for its records
//     (PERF_RECORD_SWITCH_CPU_WIDE: perf_event_open(2), Linux 6.12, kernel/events/core.c:9271).
//     It needs root. The kernel writes them when it switches; nothing here runs meanwhile.
//  2. When the process has ended, [Watch.Stop] reads them, and adds the names of the tasks.
//  3. [Log.Others] are the tasks that took a processor from the benchmark, with times on the clock
//     of libkrun.
//
// The memory for the records is bounded. When it is full the kernel writes no more of them:
// [Log.Full].
//
// The package never judges. Start reading at Open; parse.go reads what the kernel wrote.
package switches
