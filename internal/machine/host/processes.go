package host

import (
	"cmp"
	"path"
	"slices"
	"strconv"

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
