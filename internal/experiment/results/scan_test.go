package results

import (
	"sync/atomic"
	"testing"

	"krund/rig/must"
)

func names(n int) []Name {
	list := make([]Name, n)
	for i := range list {
		list[i] = Name{Slot: i, Attempt: 1}
	}
	return list
}

func TestOrderIsKept(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 5, 1000} {
		next := 0
		for l := range read(names(n), 2, func(n Name) Loaded { return Loaded{Name: n} }) {
			must.Need(t, l.Name.Slot == next, n, "records, number", l.Name.Slot, "came as number", next)
			next++
		}
		must.Equal(t, next, n, "records of")
	}
}

func TestLeavingEarlyReadsNoMore(t *testing.T) {
	var loads atomic.Int64
	for range read(names(1000), 2, func(n Name) Loaded { loads.Add(1); return Loaded{Name: n} }) {
		break
	}
	got := loads.Load()
	must.Be(t, got <= 4, got, "records were loaded for one that was wanted, with 2 workers")
}
