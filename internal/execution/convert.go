package execution

import (
	"cmp"
	"slices"

	libkrun "krund/cgo"
	"krund/internal/execution/child"
	"krund/internal/experiment/results"
	"krund/runners/external"
)

// stamp converts libkrun's "not taken" (0) to nil.
func stamp(ns int64) *int64 {
	if ns == 0 {
		return nil
	}
	return &ns
}

func stateName(s libkrun.State) string {
	switch s {
	case libkrun.StateDone:
		return "done"
	case libkrun.StateReady:
		return "ready"
	}
	return "new"
}

// columns converts libkrun's columns. The deltas of a counter are counts; user columns keep their
// sign and their missing values.
func columns(from []libkrun.ColumnData) []results.Column {
	to := make([]results.Column, 0, len(from))
	for _, c := range from {
		r := results.Column{Name: c.Name, Unit: c.Unit, Empty: c.Empty}
		if c.Core != libkrun.NoCore {
			core := c.Core
			r.Core = &core
		}
		if c.Kind == libkrun.KindCounter {
			r.Kind, r.Counts = results.KindCounter, make([]uint64, len(c.Values))
			for i, v := range c.Values {
				r.Counts[i] = uint64(v) //nolint:gosec // two's complement is what the counter's register held
			}
		} else {
			r.Kind, r.Values = results.KindUser, c.Values
		}
		to = append(to, r)
	}
	return to
}

// totals converts the counters of the whole execution; nil if there are none.
func totals(from []libkrun.Total) []results.Total {
	var to []results.Total
	for _, t := range from {
		r := results.Total{Name: t.Name, Unit: t.Unit}
		if t.Core != libkrun.NoCore {
			core := t.Core
			r.Core = &core
		}
		if t.Value != libkrun.Missing {
			value := uint64(t.Value) //nolint:gosec // two's complement is what the counter's register held
			r.Value = &value
		}
		to = append(to, r)
	}
	return to
}

// events converts the events, in the order of their times; nil if there are none.
func events(from []libkrun.Event) []results.Event {
	var to []results.Event
	for _, e := range from {
		r := results.Event{Kind: e.Kind.String(), TimeNS: e.TimeNS, DurationNS: e.DurationNS, Name: e.Name}
		if e.Argument != libkrun.Missing {
			r.Argument = &e.Argument
		}
		to = append(to, r)
	}
	slices.SortStableFunc(to, func(a, b results.Event) int { return cmp.Compare(a.TimeNS, b.TimeNS) })
	return to
}

// externalColumns names the counts of an external suite as libkrun would.
func externalColumns(r external.Result) []results.Column {
	var to []results.Column
	for core := range r.Cores() {
		for _, c := range []struct {
			name   string
			counts [][]uint64
		}{{"cycles", r.CoreCycles}, {"aperf", r.APERF}, {"mperf", r.MPERF}} {
			if core < len(c.counts) {
				to = append(to, results.Column{Name: c.name, Kind: results.KindCounter, Core: &core,
					Counts: c.counts[core]})
			}
		}
	}
	return to
}

// limits converts the limits that were in effect: processes is child.Run.Processes.
func limits(l child.Limits, processes int64) results.Limits {
	positive := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return results.Limits{
		HeapBytes: positive(l.Heap), StackBytes: positive(l.Stack),
		TimeoutNS: positive(l.Timeout.Nanoseconds()), OutputBytes: positive(l.Output),
		Processes: positive(processes),
	}
}
