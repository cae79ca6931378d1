package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pinThreads keeps all threads of the daemon to some processors until the function it returns is called. A thread that is made meanwhile
// inherits the processors of the one that makes it. When the system refuses, everything is as before.
func pinThreads(cpus []int) (undo func() error, err error) {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	saved := make(map[int]unix.CPUSet)
	undo = func() error {
		var before unix.CPUSet // of threads that were made meanwhile: what the others had
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
	// A thread that was still free may have made another one behind our back: that is looked for again.
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
		return nil, errors.Join(fmt.Errorf("keep krund on CPU %v: %w", cpus, err), undo())
	}
	return undo, nil
}

// eachThread calls do for the daemon's threads. One that has ended meanwhile is no error.
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
