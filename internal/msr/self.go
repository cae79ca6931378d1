package msr

import (
	"fmt"
	"os"

	libkrun "krund/cgo"
	"krund/internal/machine/sysroot"
)

// Self is an event that the measured process must open itself, on its first thread and while it
// may: see [Counters.Self].
type Self struct {
	File   int // index in Files of the one whose number the event takes
	Type   uint32
	Config uint64
}

// mapped checks whether the kernel lets this thread read its own event without a system call; tests
// replace it.
type mapped func(*os.File) error

// findSelf checks whether cycles can be counted by RDPMC. The event belongs to a thread that does
// not exist yet, so a file holds its place.
//
// RDPMC reads a counter of the processor that executes it, so only a thread that counts itself can
// use it. It cannot read other cores' counters, those of threads that the benchmark starts, or
// APERF and MPERF, which are not performance counters.
func findSelf(root sysroot.Root, open opener, look mapped, want Want) (*os.File, event, SourceFinding) {
	f := SourceFinding{Source: RDPMC, Columns: []string{"cycles"}}
	refuse := func(format string, args ...any) (*os.File, event, SourceFinding) {
		f.Columns, f.Why = nil, fmt.Sprintf(format, args...)
		return nil, event{}, f
	}
	if want.Scope != Task {
		return refuse(`a thread can read only its own counter that way: set scope = "task", or use perf`)
	}
	if off, err := root.ReadInt(devices + "/cpu/rdpmc"); err == nil && off == 0 {
		return refuse("it is switched off: write 1 to %s/cpu/rdpmc", devices)
	}
	pmus, err := hybridPMUs(root)
	if err != nil {
		return refuse("%v", err)
	}
	if len(pmus) > 0 {
		return refuse("the processor has cores of several kinds, and a counter belongs to one kind: use perf")
	}
	cycles := hardware("", 0)[0]
	tried, err := open(cycles, eventOptions{core: libkrun.NoCore})
	if err != nil {
		return refuse("%s", Remedy(root, fmt.Errorf("cycles: %w", err)))
	}
	defer func() { _ = tried.Close() }() // only read
	if err = counting(tried, 1); err != nil {
		return refuse("%s", Remedy(root, err))
	}
	if err = look(tried); err != nil {
		return refuse("%v: use perf, which costs a system call", err)
	}
	place, err := os.Open(os.DevNull)
	if err != nil {
		return refuse("%v", err)
	}
	f.Available = true
	f.Why = "counts cycles of the benchmark's first thread, and of no other, without a system call"
	return place, cycles, f
}

func (c *Counters) useSelf(place *os.File, cycles event) {
	c.columns = []libkrun.Column{{Name: cycles.name, Core: libkrun.NoCore}}
	c.groups = []libkrun.Group{{Source: libkrun.SourceSelf, Columns: 1, File: place}}
	c.self = []Self{{File: 0, Type: cycles.kind, Config: cycles.config}}
	c.close = place.Close
}

// Self are the events that must take the place of some of Files in the measured process. They are
// opened there for its own first thread, before the exec: opening an event for a thread requires
// permission to watch it, and an event opened by this package would count the thread of the caller.
func (c *Counters) Self() []Self { return c.self }
