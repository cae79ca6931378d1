package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// BindThread binds the calling thread to one CPU; unbind restores its previous affinity.
func BindThread(cpu int) (unbind func(), err error) {
	var old, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, fmt.Errorf("sched_setaffinity: %w", err)
	}
	return func() { _ = unix.SchedSetaffinity(0, &old) }, nil // the previous affinity is still permitted
}
