package host

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"krund/internal/display"
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

// parseProcess reads /proc/PID/stat (proc(5)): the name is in parentheses and may contain any
// character.
func parseProcess(stat string) (p Process, ok bool) {
	// fields, counted from the one after the name
	const parent, user, system, start = 4 - 3, 14 - 3, 15 - 3, 22 - 3
	first, last := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if first < 0 || last < first {
		return p, false
	}
	fields := strings.Fields(stat[last+1:])
	if len(fields) <= start {
		return p, false
	}
	var n [4]uint64
	for i, field := range []int{user, system, start, parent} {
		v, err := strconv.ParseUint(fields[field], 10, 63)
		if err != nil {
			return p, false
		}
		n[i] = v
	}
	const longest = 63
	return Process{Start: n[2], Name: display.PlainLine(display.Head(stat[first+1:last], longest)),
		Ticks: n[0] + n[1], Parent: int(min(n[3], math.MaxInt32))}, true
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
