// Package probe inspects the machine before and after a run: temperatures, throttling, the kernel
// log, virtualization, and the identity of the machine. It only reads. Its readings are stored in
// the record, and internal/execution/verdict decides what they mean.
//
// Each probe is a file: a reading part that takes a Machine (its files below a root, its small
// programs), and pure parsers and comparisons that exist on every system. A probe that the machine
// does not support, or a broken sensor, causes a remark rather than an error, because the other
// readings are still useful.
//
//	before := probe.ReadThrottle(h.Root)                    // throttle.go
//	log, err := probe.WatchKernelLog(ctx, h)                // kernellog.go
//	result, err := gate.Wait(ctx, base, settings)           // gate.go
//	... the run ...
//	after := probe.ReadThrottle(h.Root)
//	lines, err := log.Drain()
//
// Check (check.go) returns a table row for each of them. The package also has the measurements of
// `krunctl check --prove`: Speed, Interrupts and Prove (speed.go, interrupts.go, prove.go) show
// whether a setting has the intended effect.
//
// Start reading at Check.
package probe
