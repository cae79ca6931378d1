package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
)

// processCPU returns the nanoseconds of processor time of all threads, exactly; rusage rounds them
// to microseconds.
func processCPU(ru *unix.Rusage) int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return ru.Utime.Nano() + ru.Stime.Nano()
	}
	return ts.Nano()
}

// residentBytes returns the size of the daemon in memory; 0 when it cannot be read.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	f := bytes.Fields(text)
	if err != nil || len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// readThreads reads the threads in a directory of /proc: in "/proc" the first thread of every
// process and all of the kernel's, in "/proc/self/task" the daemon's. Threads that end meanwhile
// are omitted. It returns nil when the kernel does not provide them.
func readThreads(dir string, wanted func(thread) bool) map[int]thread {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	threads := make(map[int]thread)
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name(), "stat"))
		if err != nil {
			continue
		}
		t, err := parseThread(text)
		if err != nil {
			return nil
		}
		if !wanted(t) {
			continue
		}
		if text, err = os.ReadFile(filepath.Join(dir, e.Name(), "schedstat")); err != nil {
			continue
		}
		ns, runs, err := sysroot.ParseSchedstat(string(text))
		if err != nil {
			return nil
		}
		t.used = results.Activity{CPUNS: ns, Runs: runs}
		threads[id] = t
	}
	if len(threads) == 0 {
		return nil
	}
	return threads
}

// ownThreads are the daemon's threads.
func ownThreads() map[int]thread {
	return readThreads("/proc/self/task", func(thread) bool { return true })
}

// kernelThreads are the kernel's.
func kernelThreads() map[int]thread {
	return readThreads("/proc", func(t thread) bool { return t.kernel })
}

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
