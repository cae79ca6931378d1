package host

import (
	"errors"
	"path"
	"strconv"
	"strings"

	"krund/internal/machine/sysroot"
)

// A Thread is one thread of the machine and the CPUs that it may run on.
type Thread struct {
	ID    int
	Start uint64 // ticks after boot: distinguishes it from a later thread with the same ID
	CPUs  CPUs
}

// Threads returns all threads except those whose affinity the kernel does not allow to change. It
// skips threads that end in the meantime.
func (h Host) Threads() []Thread {
	var threads []Thread
	for _, process := range h.Root.List("/proc") {
		if _, err := strconv.Atoi(process); err != nil {
			continue
		}
		for _, id := range h.Root.List(path.Join("/proc", process, "task")) {
			if t, ok := readThread(h.Root, path.Join("/proc", process, "task", id)); ok {
				threads = append(threads, t)
			}
		}
	}
	return threads
}

// readThread reads a directory of /proc/PID/task. ok is false for a thread that is gone, unreadable
// or has a fixed affinity (PF_NO_SETAFFINITY).
func readThread(root sysroot.Root, dir string) (thread Thread, ok bool) {
	stat, err1 := root.Read(path.Join(dir, "stat"))
	status, err2 := root.Read(path.Join(dir, "status"))
	id, err3 := strconv.Atoi(path.Base(dir))
	if errors.Join(err1, err2, err3) != nil {
		return Thread{}, false
	}
	thread, ok = parseThread(stat, status)
	thread.ID = id
	return thread, ok
}

// parseThread reads the texts of /proc/PID/task/TID/stat and status (proc(5)).
func parseThread(stat, status string) (thread Thread, ok bool) {
	const (
		fixedAffinity = 0x04000000 // PF_NO_SETAFFINITY of the kernel's include/linux/sched.h
		allowedPrefix = "Cpus_allowed_list:"
	)
	s, err := sysroot.ParseProcessStat(stat)
	if err != nil || s.Flags&fixedAffinity != 0 {
		return Thread{}, false
	}
	for line := range strings.Lines(status) {
		if list, found := strings.CutPrefix(line, allowedPrefix); found {
			cpus, err := ParseCPUList(strings.TrimSpace(list))
			return Thread{Start: s.Start, CPUs: cpus}, err == nil && len(cpus) > 0
		}
	}
	return Thread{}, false
}
