package host

import (
	"path"
	"strconv"
	"strings"

	"krund/internal/machine/sysroot"
)

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
