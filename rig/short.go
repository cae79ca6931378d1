package rig

import "fmt"

// These are parts of the configuration of a short experiment; they follow the section [experiment].
const (
	// NoWaits ends in the section [temperature].
	NoWaits = `
[wait]
startup = "0s"
sync = "0s"

[temperature]
base_wait = "0s"
`
	// WarnOnly is for controls that the rig's machine does not satisfy.
	WarnOnly = `
[controls]
isolcpus = "warn"
cstates = "warn"
overcommit = "warn"
`
)

// Limits limits each process execution, and has NoWaits.
func Limits(timeout, heap string) string {
	return fmt.Sprintf("\n[limits]\ntimeout = %q\nheap = %q\n", timeout, heap) + NoWaits
}

// NBody has one benchmark, in C.
func NBody(iterations int) string {
	return fmt.Sprintf(`
[vms.C]
runner = "c"
iterations = %d
variants = ["default-c"]

[variants.default-c]
entry = "bench.so"
subfolder = "c"

[benchmarks]
nbody = { parameter = 100 }
`, iterations)
}

// Python has CPython, and ends in the section [benchmarks], which is empty.
func Python(iterations int) string {
	return fmt.Sprintf(`
[vms.CPython]
runner = "python"
path = "python3"
iterations = %d
variants = ["default-python"]

[variants.default-python]
entry = "bench.py"
subfolder = "python"

[benchmarks]
`, iterations)
}
