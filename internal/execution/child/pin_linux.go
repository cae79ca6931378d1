package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pinThreads binds all threads of the daemon to cpus until the function it returns is called. New
// threads inherit the affinity of the thread that makes them. When the system refuses, nothing is
// changed.
func pinThreads(cpus []int) (undo func() error, err error) {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	saved := make(map[int]unix.CPUSet)
	undo = func() error {
		var before unix.CPUSet // for threads that were created in the meantime
		for _, before = range saved {
			break
		}
		return eachThread(func(id int) error {
			mask, ok := saved[id]
			if !ok {
				mask = before
			}
			return unix.SchedSetaffinity(id, &mask)
		})
	}
	// A thread that was not yet bound may have created another one, so repeat until none is new.
	for again := true; again && err == nil; {
		again = false
		err = eachThread(func(id int) error {
			if _, ok := saved[id]; ok {
				return nil
			}
			var old unix.CPUSet
			if err := unix.SchedGetaffinity(id, &old); err != nil {
				return err
			}
			if err := unix.SchedSetaffinity(id, &set); err != nil {
				return err
			}
			saved[id], again = old, true
			return nil
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bind krund to CPU %v: %w", cpus, err), undo())
	}
	return undo, nil
}

// eachThread calls do for the daemon's threads. A thread that ends during the call is no error.
func eachThread(do func(id int) error) error {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if err := do(id); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
