package main

import (
	"testing"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// Per nanosecond: a processor of 2 GHz.
const baseRate = 2

// withRatios gives a record APERF and MPERF of two cores: the first one is busy
// and has APERF/MPERF as given, iteration by iteration; the second one is idle.
func withRatios(rec results.Record, ratios ...float64) results.Record {
	busy, idle := 0, 1
	var a0, m0, a1, m1 []uint64
	for i, wall := range rec.WallNS {
		cycles := uint64(wall) * baseRate
		m0 = append(m0, cycles)
		a0 = append(a0, uint64(float64(cycles)*ratios[i%len(ratios)]))
		m1 = append(m1, cycles/10000)
		a1 = append(a1, cycles/20000) // a ratio of 0.5 that means nothing
	}
	rec.CounterSource, rec.CounterReason = "perf", "perf: available"
	rec.Columns = []results.Column{
		{Name: "aperf", Unit: "cycles", Kind: results.KindCounter, Core: &busy, Counts: a0},
		{Name: "mperf", Unit: "cycles", Kind: results.KindCounter, Core: &busy, Counts: m0},
		{Name: "aperf", Unit: "cycles", Kind: results.KindCounter, Core: &idle, Counts: a1},
		{Name: "mperf", Unit: "cycles", Kind: results.KindCounter, Core: &idle, Counts: m1},
	}
	return rec
}

// next appends a completed record of the next slot, as change makes it.
func (b *builder) next(change func(results.Record) results.Record) {
	b.t.Helper()
	slot, err := b.sched.Begin()
	b.must(err)
	b.append(change(b.record(slot, results.Completed)))
	b.must(b.sched.Finish(slot, schedule.Completed))
}

// TestAmperfLimits: the limits are those of the configuration.
func TestAmperfLimits(t *testing.T) {
	for limits, code := range map[string]int{"ratio_tolerance = 0.1": exitError,
		"ratio_tolerance = 0.6": exitOK, "ratio_tolerance = 0.1\nbusy_threshold = 1e12": exitOK} {
		b := clockedOf(newExperimentOf(t, experimentText+"[verdict]\n"+limits))
		krunctl(t, "show", "--counters", b.dir()).says(t, code, "", "", limits)
	}
}

// clocked has an execution at the base frequency, one without counters, one
// with turbo in each second iteration, and one that was throttled.
func clocked(t *testing.T) *builder { return clockedOf(newExperiment(t)) }

// clockedOf runs these executions.
func clockedOf(b *builder) *builder {
	b.next(func(r results.Record) results.Record { return withRatios(r, 1, 1.01) })
	b.next(func(r results.Record) results.Record { r.Columns = nil; return r })
	b.next(func(r results.Record) results.Record { return withRatios(r, 1, 1.25) })
	b.next(func(r results.Record) results.Record { return withRatios(r, 0.5) })
	return b
}

// calibrated has an execution of an idle machine, and two that keep a processor busy.
func calibrated(t *testing.T) *builder {
	b := newExperiment(t)
	resting := func(r results.Record) results.Record {
		r = withRatios(r, 1)
		r.Columns[0].Counts, r.Columns[1].Counts = r.Columns[2].Counts, r.Columns[3].Counts
		return r
	}
	working := func(r results.Record) results.Record {
		r = withRatios(r, 1, 1.004, 0.99)
		r.Columns = r.Columns[:2]
		return r
	}
	b.next(resting)
	b.next(working)
	b.next(working)
	return b
}
