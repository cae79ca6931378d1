package host

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
	"krund/internal/machine/sysroot"
)

// A Process is one process of the machine, a thread of the kernel included.
type Process struct {
	PID    int
	Start  uint64 // ticks after boot: distinguishes it from a later process with the same PID
	Name   string // printable; the kernel shows at most 63 bytes (proc_task_name, fs/proc/array.c)
	Ticks  uint64 // of processor time, TicksPerSecond a second
	Parent int    // the process that started it, or that adopted it
}

// Processes returns the processes, in no order. It skips those that end meanwhile.
func (h Host) Processes() []Process {
	var list []Process
	for _, pid := range h.Root.List("/proc") {
		n, err := strconv.Atoi(pid)
		if err != nil {
			continue
		}
		text, err := h.Root.Read(path.Join("/proc", pid, "stat"))
		if p, ok := parseProcess(text); err == nil && ok {
			p.PID = n
			list = append(list, p)
		}
	}
	return list
}

func parseProcess(stat string) (p Process, ok bool) {
	const longest = 63
	s, err := sysroot.ParseProcessStat(stat)
	if err != nil || s.Parent < 0 {
		return p, false
	}
	return Process{Start: s.Start, Name: display.PlainLine(display.Head(s.Name, longest)), Ticks: s.Ticks,
		Parent: s.Parent}, true
}

// Busiest returns the processes that used processor time since before, with the ticks that they
// used, the busiest first, at most n. Processes that began since then count from their start.
func Busiest(before, now []Process, n int) []Process {
	type identity struct {
		pid   int
		start uint64
	}
	used := map[identity]uint64{}
	for _, p := range before {
		used[identity{p.PID, p.Start}] = p.Ticks
	}
	var busy []Process
	for _, p := range now {
		if was := used[identity{p.PID, p.Start}]; p.Ticks > was {
			p.Ticks -= was
			busy = append(busy, p)
		}
	}
	slices.SortFunc(busy, func(a, b Process) int {
		return cmp.Or(cmp.Compare(b.Ticks, a.Ticks), cmp.Compare(a.PID, b.PID))
	})
	return busy[:min(n, len(busy))]
}

// A Thread is one thread of the machine and the CPUs that it may run on.
type Thread struct {
	ID    int
	Start uint64 // ticks after boot: distinguishes it from a later thread with the same ID
	CPUs  CPUs
}

// Tasks yields the directory of each thread, /proc/PID/task/TID.
func (h Host) Tasks(yield func(dir string) bool) {
	for _, process := range h.Root.List("/proc") {
		if _, err := strconv.Atoi(process); err != nil {
			continue
		}
		for _, id := range h.Root.List(path.Join("/proc", process, "task")) {
			if !yield(path.Join("/proc", process, "task", id)) {
				return
			}
		}
	}
}

// Threads returns all threads except those whose affinity the kernel does not allow to change. It
// skips threads that end in the meantime.
func (h Host) Threads() []Thread {
	var threads []Thread
	for dir := range h.Tasks {
		if t, ok := readThread(h.Root, dir); ok {
			threads = append(threads, t)
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

const groupRoot = "/sys/fs/cgroup"

// Groups returns the control groups (version 2) of this process: its own, then those above it
// without the root, such as "/system.slice/krund@a.service", "/system.slice".
func (h Host) Groups() ([]string, error) { return h.groups("") }

// groups returns the groups of the hierarchy of a controller of version 1, or of version 2 if it is
// "".
func (h Host) groups(controller string) ([]string, error) {
	text, err := h.Root.Read("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var groups []string
	own, _ := sysroot.ParseGroup(text, controller)
	for g := path.Clean("/" + own); g != "/"; g = path.Dir(g) {
		groups = append(groups, g)
	}
	return groups, nil
}

// A Limit is what a control group of this process, or one above it, may not exceed, and how often
// that has stopped or slowed its processes.
type Limit struct {
	Group string
	Kind  string // "CPU quota" or "memory.high"
	Text  string // "80000 us of each 100000 us"
	Count int64  // periods in which processes were stopped, or times that memory was reclaimed
}

// limitFiles are where a control group keeps its limits and what they have done (docs.kernel.org,
// admin-guide/cgroup-v2, "CPU" and "Memory"; scheduler/sched-bwc for version 1).
var limitFiles = []struct {
	controller, dir   string // of version 1
	kind, limit, none string // the file with the limit, and its value without one
	events, count     string // the file and the row that count
}{
	{"", "", "CPU quota", "cpu.max", "max", "cpu.stat", "nr_throttled"},
	{"", "", "memory.high", "memory.high", "max", "memory.events", "high"},
	{"cpu", "/cpu", "CPU quota", "cpu.cfs_quota_us", "-1", "cpu.stat", "nr_throttled"},
}

// Limits returns the limits of this process's control groups, nearest first. In a container the
// topmost group is not "/" for the kernel, and is read, too.
func (h Host) Limits() []Limit {
	var list []Limit
	for _, f := range limitFiles {
		groups, err := h.groups(f.controller)
		if err != nil {
			continue
		}
		for _, group := range append(groups, "/") {
			dir := groupRoot + path.Join(f.dir, group)
			text, err := h.Root.Read(path.Join(dir, f.limit))
			words := strings.Fields(text)
			if err != nil || len(words) == 0 || words[0] == f.none {
				continue
			}
			if period, err := h.Root.Read(path.Join(dir, "cpu.cfs_period_us")); err == nil {
				words = append(words, period)
			}
			if len(words) > 1 {
				text = words[0] + " us of each " + words[1] + " us"
			}
			l := Limit{Group: group, Kind: f.kind, Text: text}
			events, _ := h.Root.Read(path.Join(dir, f.events))
			for line := range strings.Lines(events) {
				if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == f.count {
					l.Count, _ = strconv.ParseInt(value, 10, 64)
				}
			}
			list = append(list, l)
		}
	}
	return list
}
