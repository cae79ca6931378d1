package schedule_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"krund/internal/durable"
	"krund/internal/schedule"
	"krund/rig/must"
)

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
