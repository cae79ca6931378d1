package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Bind is sched_setaffinity(2): it lets a thread run on these CPUs only; 0 is the calling one.
func Bind(thread int, cpus CPUs) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(thread, &set)
}

// BindThread binds the calling thread to one CPU; unbind restores its previous affinity.
func BindThread(cpu int) (unbind func(), err error) {
	var old unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	if err := Bind(0, CPUs{cpu}); err != nil {
		return nil, fmt.Errorf("sched_setaffinity: %w", err)
	}
	return func() { _ = unix.SchedSetaffinity(0, &old) }, nil // the previous affinity is still permitted
}
