// Package libkrun is the measuring library and its Go side.
//
// The C files make libkrun.so, which every iteration runner loads: krun.h is
// its interface, layout.h specifies the bytes it shares with krund. The Go
// files are what krund needs of it, and need no C compiler:
//
//  1. [Create] makes a buffer from a [Spec]: the planned iterations, the
//     counters' columns, slots for user columns.
//  2. The measured process inherits [Buffer.File] and finds its descriptor's
//     number in the environment variable [EnvFD]. The stage that starts it
//     writes [Now], eight bytes in the machine's order, at [ExecOffset].
//  3. libkrun in that process maps the buffer and stores each iteration.
//     During that time krund does nothing; [Buffer.Stop] asks the process to end after
//     the iteration it is in.
//  4. When the process has ended, for whatever reason, [Buffer.Read] returns a
//     [Series] with every iteration that was completed.
//
// The measured process can write anything into the buffer. So Read takes every
// offset and every count from the Spec, trusts nothing else, and reports
// impossible values in [Series.Findings]. The file is sealed where the system
// can do that, so that it cannot shrink under a reader.
//
// [Meter], by which the tests measure themselves, is the only part that needs cgo.
//
// The package never starts a process and never judges a measurement. Start reading at [Buffer].
package libkrun
