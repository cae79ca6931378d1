// Package probe looks at the machine before and after a run: temperatures, throttling, the kernel's
// log, virtualisation, and what machine it is at all. It reads and never changes anything; what it
// reads goes into the record, and internal/verdict decides what it means.
//
// Each probe is a file: a reading part that takes a Machine (its files below a root, its small
// programs), and parsers and comparisons that are pure and known on every system. A probe that the
// machine does not have, or a sensor that is broken, is a remark and no error: the rest is still
// worth having.
//
//	before := probe.ReadThrottle(h.Root)                    // throttle.go
//	log, err := probe.WatchKernelLog(ctx, h)                // kernellog.go
//	result, err := gate.Wait(ctx, base, settings)           // gate.go
//	... the run ...
//	changes := probe.ReadThrottle(h.Root).Since(before)
//	lines, err := log.Drain()
//
// Check (check.go) turns all of them into rows of the table. The measuring half of `krunctl doctor
// --prove` is here too: Speed, Interrupts and Switches (speed.go, interrupts.go, switches.go) show
// whether a setting has the effect that it should have.
//
// Start reading at Check.
package probe
