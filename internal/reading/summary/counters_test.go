package summary_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"krund/internal/execution/verdict"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
	"krund/rig/must"
)

// counted is a record of three iterations of a second on one core: MPERF is 2e9 in each, APERF the
// ratios of it.
func counted(slot int, benchmark string, ratios ...float64) results.Record {
	aperf := results.Column{Name: "aperf", Kind: results.KindCounter, Core: new(int)}
	mperf := results.Column{Name: "mperf", Kind: results.KindCounter, Core: new(int)}
	r := results.Record{
		Key: key.Key{Benchmark: benchmark, VM: "C", Variant: "v"}, Experiment: "test", Slot: slot, Attempt: 1,
		Pexec:   1,
		Outcome: results.Completed, CounterSource: "msr",
	}
	for _, ratio := range ratios {
		r.WallNS = append(r.WallNS, 1e9)
		aperf.Counts = append(aperf.Counts, uint64(2e9*ratio))
		mperf.Counts = append(mperf.Counts, 2e9)
	}
	r.Columns = []results.Column{aperf, mperf}
	return r
}

func TestCounters(t *testing.T) {
	limits := verdict.CounterLimits{Tolerance: 0.03, BusyThreshold: 1e6}
	d := summary.NewCounters("test.krun")
	err := d.Err()
	must.Be(t, err != nil && !errors.Is(err, summary.ErrNoCounters), "without records", err)
	d.Add(results.Record{Key: key.Key{Benchmark: "x"}, CounterSource: "none", CounterReason: "a guest"},
		limits)
	if err := d.Err(); !errors.Is(err, summary.ErrNoCounters) || !strings.Contains(err.Error(), "a guest") {
		t.Errorf("without counters: %v", err)
	}
	d.Add(counted(1, "a", 1, 1.01, 0.99), limits)
	d.Add(counted(2, "a", 1, 0.5, 1.5), limits)
	err = d.Err()
	must.Need(t, err == nil && len(d.Keys) == 2 && len(d.Violating) == 1 && d.Violating[0].Slot == 2, err, d)
	row := d.Keys[1]
	must.Be(t, row.Records == 2 && row.Judged == 2 && row.Violating == 1 && row.Iterations == 6 &&
		row.Throttled == 1 && row.Turbo == 1 && *row.Lowest == 0.5 && *row.Highest == 1.5, row, *row.Lowest,
		*row.Highest)
}

// TestExpectedCounters: the expected ratio of a record applies, 0.75 for an efficient core; a
// record of an older version has none, and 1 is expected, as its verdict did. The ratios shown are
// relative to the expected one.
func TestExpectedCounters(t *testing.T) {
	limits := verdict.CounterLimits{Tolerance: 0.03}
	expected := 0.75
	now, old := counted(1, "a", 0.75, 0.7501), counted(2, "b", 0.75, 0.7501)
	now.Frequencies = []results.Frequency{{Core: new(int), Expected: &expected}}
	d := summary.NewCounters("test.krun")
	d.Add(now, limits)
	d.Add(old, limits)
	must.Be(t, len(d.Violating) == 1 && d.Violating[0].Slot == 2 && *d.Keys[0].Lowest == 1 &&
		*d.Keys[1].Lowest == 0.75, d)
	all := slices.Values([]results.Record{counted(0, "sleep", 0.0001, 0.0002), now, old})
	got, err := summary.Calibrate("x.krun", all, "sleep:*:*", "a:*:*")
	must.Be(t, err == nil && got.Tolerance == 0.01, "suggests", got, err, "want the least tolerance")
}

func TestCalibrate(t *testing.T) {
	records := slices.Values([]results.Record{
		counted(0, "sleep", 0.0001, 0.0002, 0.0001), counted(1, "spin", 1, 1.01, 1), counted(2, "spin", 0.98,
			1, 1),
	})
	c, err := summary.Calibrate("x.krun", records, "0-1", "spin:*:*")
	must.Be(t, err == nil && c.Idle == (summary.CalibrationRun{Records: 1, Iterations: 3}) &&
		c.Busy == (summary.CalibrationRun{Records: 2, Iterations: 6}) && c.Tolerance == 0.03 &&
		c.Threshold >= 4e5 && c.Threshold <= 1.96e9, c, err)
	for text, want := range map[string]string{"0-2": "--idle 0-2: no record of it", "x": "is not a slot",
		"1-0": "is not a slot and an attempt", "a:b": "--idle: "} {
		must.Refused(summary.Calibrate("x.krun", records, text, "1"))(t, want, text)
	}
}
