package schedule_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"krund/internal/durable"
	"krund/internal/schedule"
	"krund/rig/must"
)

// countingFS counts the bytes that are read.
type countingFS struct {
	durable.FS
	read *int
}

func (c countingFS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	return countingFile{f, c.read}, err
}

type countingFile struct {
	durable.File
	read *int
}

func (c countingFile) ReadAt(p []byte, offset int64) (int, error) {
	*c.read += len(p)
	return c.File.ReadAt(p, offset)
}

// sparse creates a schedule of n slots in which only those around the middle, where the hint
// points, are written; all others are zeros.
func sparse(t *testing.T, n int) string {
	t.Helper()
	const around = 4096
	name := filepath.Join(t.TempDir(), "schedule")
	fsys := withFlags(t, "CCOO")
	s := open(t, fsys, true)
	h := s.Header()
	small := fsys.Files()[path]
	finished := small[h.SlotOffset(0):h.SlotOffset(1)]
	outstanding := small[h.SlotOffset(2):h.SlotOffset(3)]

	must.Do(t, schedule.WriteHeaders(name, h, n, n/2))
	f := must.Get(os.OpenFile(name, os.O_RDWR, 0))(t)
	must.Do(t, f.Truncate(h.SlotOffset(n)))
	for i := n/2 - around; i < n/2+around; i++ {
		line := finished
		if i >= n/2 {
			line = outstanding
		}
		must.Get(f.WriteAt(line, h.SlotOffset(i)))(t)
	}
	must.Do(t, f.Close())
	return name
}

// TestCostIsConstant: of a million slots, only the headers and the slots around the hint are read.
// The others are zeros, which is not noticed because they are not read.
func TestCostIsConstant(t *testing.T) {
	const n = 1_000_000
	name := sparse(t, n)
	var read int
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := must.Get(schedule.Open(countingFS{durable.OS(), &read}, name, true))(t)
	for want := n / 2; want < n/2+3; want++ {
		slot := must.Get(s.Begin())(t)
		must.Equal(t, slot.Index, want, "slot")
		must.Do(t, s.Finish(slot, schedule.Completed))
		must.Do(t, s.UpdateHeader(func(h *schedule.Header) { h.Reboots++ }))
	}
	runtime.ReadMemStats(&after)
	must.Be(t, read <= 512<<10, read, "bytes were read")
	got := after.TotalAlloc - before.TotalAlloc
	must.Be(t, got <= 512<<10, got, "bytes were allocated")
	must.Do(t, s.Close())
}

// TestSummaryCost: memory use does not grow with the number of slots.
func TestSummaryCost(t *testing.T) {
	cost := func(n int) uint64 {
		name := filepath.Join(t.TempDir(), "schedule")
		create(t, durable.OS(), name, n)
		s := must.Get(schedule.Open(durable.OS(), name, false))(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sum := must.Get(s.Summarize())(t)
		runtime.ReadMemStats(&after)
		must.Equal(t, sum.Outstanding, n, "outstanding")
		must.Do(t, s.Close())
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := cost(2_000), cost(20_000); many > few+10_000 {
		t.Errorf("2,000 slots allocate %d bytes, 20,000 allocate %d", few, many)
	}
}
