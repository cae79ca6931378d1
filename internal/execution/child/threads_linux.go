package child

import (
	"os"
	"path/filepath"
	"strconv"

	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
)

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
