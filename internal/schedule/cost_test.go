package schedule_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"krund/internal/durable"
	"krund/internal/schedule"
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

	must(t, schedule.WriteHeaders(name, h, n, n/2))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	must(t, f.Truncate(h.SlotOffset(n)))
	for i := n/2 - around; i < n/2+around; i++ {
		line := finished
		if i >= n/2 {
			line = outstanding
		}
		_, err := f.WriteAt(line, h.SlotOffset(i))
		must(t, err)
	}
	must(t, f.Close())
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
	s, err := schedule.Open(countingFS{durable.OS(), &read}, name, true)
	must(t, err)
	for want := n / 2; want < n/2+3; want++ {
		slot, err := s.Begin()
		must(t, err)
		if slot.Index != want {
			t.Errorf("slot %d, want %d", slot.Index, want)
		}
		must(t, s.Finish(slot, schedule.Completed))
		must(t, s.UpdateHeader(func(h *schedule.Header) { h.Reboots++ }))
	}
	runtime.ReadMemStats(&after)
	if read > 512<<10 {
		t.Errorf("%d bytes were read", read)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 512<<10 {
		t.Errorf("%d bytes were allocated", got)
	}
	must(t, s.Close())
}

// TestSummaryCost: memory use does not grow with the number of slots.
func TestSummaryCost(t *testing.T) {
	cost := func(n int) uint64 {
		name := filepath.Join(t.TempDir(), "schedule")
		create(t, durable.OS(), name, n)
		s, err := schedule.Open(durable.OS(), name, false)
		must(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sum, err := s.Summarize()
		must(t, err)
		runtime.ReadMemStats(&after)
		if sum.Outstanding != n {
			t.Errorf("%d of %d outstanding", sum.Outstanding, n)
		}
		must(t, s.Close())
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := cost(2_000), cost(20_000); many > few+10_000 {
		t.Errorf("2,000 slots allocate %d bytes, 20,000 allocate %d", few, many)
	}
}
