package control

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/sysroot"
)

// A thread is one that somebody has bound to CPUs: a daemon with CPUAffinity=, or the kernel on behalf of nohz_full=.
type thread struct {
	id    int
	start uint64 // ticks after boot: tells it from a later one of the same number
	cpus  CPUs
}

// noteThreads returns a step that changes nothing and remembers which threads are bound, none when there are none. A cpuset partition that comes or
// goes gives every thread all CPUs of its control group: kernels before 6.2 forget what was asked for by sched_setaffinity(2), and all of them
// forget where nohz_full= has kept the kernel's own threads.
func noteThreads(m *Machine) []Step {
	all, err := m.online()
	if err != nil || m.Bind == nil {
		return nil
	}
	var lines []string
	for _, t := range readThreads(m.Root) {
		if !t.cpus.Equal(all) {
			lines = append(lines, fmt.Sprintf("%d %d %s", t.id, t.start, t.cpus))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []Step{{Kind: KindThreads, Target: "/proc", Old: fmt.Sprintf("%d threads bound", len(lines)), New: "wherever their group may run", Data: strings.Join(lines, "\n")}}
}

// readThreads returns all threads but those that the kernel lets nobody bind. A thread that ends meanwhile is left out.
func readThreads(root sysroot.Root) []thread {
	var threads []thread
	for _, process := range root.List("/proc") {
		if _, err := strconv.Atoi(process); err != nil {
			continue
		}
		for _, id := range root.List(path.Join("/proc", process, "task")) {
			if t, ok := readThread(root, path.Join("/proc", process, "task", id)); ok {
				threads = append(threads, t)
			}
		}
	}
	return threads
}

// readThread reads a directory of /proc/PID/task. ok is false for one that is gone, unreadable or bound for ever (PF_NO_SETAFFINITY).
func readThread(root sysroot.Root, dir string) (thread, bool) {
	stat, err1 := root.Read(path.Join(dir, "stat"))
	status, err2 := root.Read(path.Join(dir, "status"))
	id, err3 := strconv.Atoi(path.Base(dir))
	if errors.Join(err1, err2, err3) != nil {
		return thread{}, false
	}
	t, ok := parseThread(stat, status)
	t.id = id
	return t, ok
}

// parseThread reads the texts of /proc/PID/task/TID/stat and status (proc(5)).
func parseThread(stat, status string) (thread, bool) {
	const (
		flags, start  = 9 - 3, 22 - 3 // places in stat, counted from the one after the name
		boundForEver  = 0x04000000    // PF_NO_SETAFFINITY of the kernel's include/linux/sched.h
		allowedPrefix = "Cpus_allowed_list:"
	)
	i := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[i+1:])
	if i < 0 || len(fields) <= start {
		return thread{}, false
	}
	f, err1 := strconv.ParseUint(fields[flags], 10, 64)
	s, err2 := strconv.ParseUint(fields[start], 10, 64)
	if errors.Join(err1, err2) != nil || f&boundForEver != 0 {
		return thread{}, false
	}
	for line := range strings.Lines(status) {
		if list, found := strings.CutPrefix(line, allowedPrefix); found {
			cpus, err := ParseCPUList(strings.TrimSpace(list))
			return thread{start: s, cpus: cpus}, err == nil && len(cpus) > 0
		}
	}
	return thread{}, false
}

// threadActor binds threads again.
type threadActor struct{ m *Machine }

// do does nothing: what comes next changes the threads.
func (threadActor) do(context.Context, Step) (string, error) { return "", nil }

// undo binds those threads again that are still there and bound otherwise. One that the kernel does not let itself be told about (EINVAL: none of the
// CPUs is its group's) or that has just ended is passed over.
func (a threadActor) undo(_ context.Context, s Step) (Outcome, error) {
	now := map[int]thread{}
	for _, t := range readThreads(a.m.Root) {
		now[t.id] = t
	}
	outcome := Already
	var errs []error
	for line := range strings.Lines(s.Data) {
		var was thread
		var list string
		if _, err := fmt.Sscan(line, &was.id, &was.start, &list); err != nil {
			errs = append(errs, fmt.Errorf("journal: %q is no thread", clip(line)))
			continue
		}
		cpus, err := ParseCPUList(list)
		is, there := now[was.id]
		if err != nil || !there || is.start != was.start || is.cpus.Equal(cpus) {
			continue
		}
		switch err := a.m.Bind(was.id, cpus); {
		case err == nil:
			outcome = Restored
		case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ESRCH):
		default:
			errs = append(errs, fmt.Errorf("bind thread %d to CPU %s: %w", was.id, cpus, err))
		}
	}
	if len(errs) > 0 {
		return Failed, errors.Join(errs...)
	}
	return outcome, nil
}
