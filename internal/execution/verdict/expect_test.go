package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// known is what krund finds out about a core: the held frequency in kHz and the rate of MPERF in
// Hz, 0 unknown.
func known(core int, held int64, mperf float64) results.Frequency {
	f := results.Frequency{Core: &core}
	if held > 0 {
		f.HeldKHz = &held
	}
	if mperf > 0 {
		f.MPERFHz = &mperf
	}
	return f
}

// measured is f with the frequency in Hz that was measured before the run.
func measured(f results.Frequency, hz float64) results.Frequency {
	f.MeasuredHz = &hz
	return f
}

// held is a run of one second with a core that runs at a frequency while MPERF counts at its rate.
func held(core int, hz, mperf float64) CounterRun {
	return CounterRun{StartNS: []int64{0}, WallNS: []int64{1e9}, Cores: []CoreCounts{
		{Core: core, APERF: []uint64{uint64(hz)}, MPERF: []uint64{uint64(mperf)}},
	}}
}

// TestExpectedRatio: APERF/MPERF of a core that runs exactly as it is held is not judged as
// throttled or turbo, whatever its base frequency is. MPERF counts at the maximum frequency without
// turbo (Linux 6.12, arch/x86/kernel/cpu/aperfmperf.c:404; drivers/cpufreq/intel_pstate.c:949-953,
// 2092), base_frequency is the guaranteed one (912-929).
func TestExpectedRatio(t *testing.T) {
	for _, c := range []struct {
		name         string
		hz, mperf    float64
		known        []results.Frequency
		ratio        float64
		source, want string
	}{
		{"efficient core of a Core i9-12900", 2.4e9, 3.187e9,
			[]results.Frequency{known(4, 2400000, 3.187e9)}, 0.753, "measured", ""},
		{"laptop at its lower configurable TDP", 1.2e9, 2.8e9, []results.Frequency{known(4, 1200000, 2.8e9)},
			0.429, "measured", ""},
		{"frequency.khz below base", 1.6e9, 3.6e9, []results.Frequency{known(4, 1600000, 3.6e9)}, 0.444,
			"measured", ""},
		{"base frequency", 3.6e9, 3.6e9, []results.Frequency{known(4, 3600000, 3.6e9)}, 1, "measured", ""},
		{"throttled efficient core", 2.0e9, 3.187e9, []results.Frequency{known(4, 2400000, 3.187e9)}, 0.753,
			"measured", "core 4 ran below its set frequency (throttled) in 1 of 1 iterations, the first " +
				"is 0; APERF/MPERF at worst 0.628 instead of 0.753"},
		{"efficient core in turbo", 3.187e9, 3.187e9, []results.Frequency{known(4, 2400000, 3.187e9)}, 0.753,
			"measured", "core 4 ran above its set frequency (turbo) in 1 of 1 iterations, the first is " +
				"0; APERF/MPERF at worst 1.000 instead of 0.753"},
		{"rate unknown: the fastest of the run", 2.4e9, 3.2e9,
			[]results.Frequency{known(4, 2400000, 0)}, 0.75, "run", ""},
		{"performance core at the next level", 0.866e9, 3.187e9,
			[]results.Frequency{measured(known(4, 800000, 3.187e9), 0.866e9)}, 0.272, "measured", ""},
		{"throttled before the run, too", 3.4e9, 3.6e9,
			[]results.Frequency{measured(known(4, 3600000, 3.6e9), 3.4e9)}, 1, "measured", "throttled"},
		{"held frequency unknown", 3.2e9, 3.2e9, []results.Frequency{known(4, 0, 3.2e9)}, 1, "measured", ""},
		{"nothing known", 3.2e9, 3.2e9, nil, 1, "run", ""},
		{"other cores known", 2.4e9, 3.2e9, []results.Frequency{known(0, 2400000, 3.2e9)}, 1, "run",
			"throttled"},
	} {
		run := held(4, c.hz, c.mperf)
		list := run.Expect(c.known)
		must.Need(t, len(list) == 1 && *list[0].Core == 4 && math.Abs(*list[0].Expected-c.ratio) <= 5e-4 &&
			list[0].Source == c.source, c.name, list)
		j := JudgeCounters(run, CounterLimits{Tolerance: DefaultTolerance})
		got := strings.Join(j.Reasons(), "; ")
		must.Be(t, (got == "") == (c.want == "") && strings.Contains(got, c.want), c.name, got, c.want)
		// What the record keeps gives the same verdict later.
		again, ok := RunOf(results.Record{StartNS: run.StartNS, WallNS: run.WallNS, Frequencies: list,
			Columns: []results.Column{{Name: "aperf", Kind: results.KindCounter, Core: list[0].Core,
				Counts: run.Cores[0].APERF}, {Name: "mperf", Kind: results.KindCounter, Core: list[0].Core,
				Counts: run.Cores[0].MPERF}}})
		k := JudgeCounters(again, CounterLimits{Tolerance: DefaultTolerance})
		must.Be(t, ok && len(k.Disturbed) == len(j.Disturbed), c.name, "from the record", k.Disturbed)
	}
}

// TestSuggestRelative: limits suggested from a run on efficient cores do not hide real throttling.
func TestSuggestRelative(t *testing.T) {
	idle, busy := held(4, 100_000, 100_000), held(4, 2.4e9, 3.187e9)
	busy.Expect([]results.Frequency{known(4, 2400000, 3.187e9)})
	got, err := Suggest(idle, busy)
	must.Be(t, err == nil && got.Tolerance == leastTolerance, got, err, "want the least tolerance")
	got, err = Suggest(idle, Join(busy))
	must.Be(t, err == nil && got.Tolerance == leastTolerance, "joined", got, err, "want the least tolerance")
}

// TestTaskRatio: the ratio of the benchmark's threads is judged if all cores should have the same.
func TestTaskRatio(t *testing.T) {
	alike := []results.Frequency{known(0, 3600000, 3.6e9), known(1, 3600000, 3.6e9)}
	hybrid := []results.Frequency{known(0, 3200000, 3.187e9), known(4, 2400000, 3.187e9)}
	for _, c := range []struct {
		name   string
		hz     float64
		known  []results.Frequency
		judged bool
		want   string
	}{
		{"held", 3.6e9, alike, true, ""},
		{"throttled", 3.0e9, alike, true, "the benchmark's threads ran below its set frequency (throttled)"},
		{"two kinds of cores", 2.4e9, hybrid, false, ""},
		{"nothing known, as in older records", 2.4e9, nil, false, ""},
	} {
		run := held(TaskThreads, c.hz, 3.6e9)
		list := run.Expect(c.known)
		must.Be(t, len(list) == 1 && list[0].Core == nil && (list[0].Expected != nil) == c.judged &&
			run.HasRatio() == c.judged, c.name, list)
		j := JudgeCounters(run, CounterLimits{Tolerance: DefaultTolerance})
		got := strings.Join(j.Reasons(), "; ")
		must.Be(t, (got == "") == (c.want == "") && strings.Contains(got, c.want), c.name, got, c.want)
	}
}

// TestJudgeSMI: each core counts the interrupts that stop all of them, so they are not added up.
func TestJudgeSMI(t *testing.T) {
	run := CounterRun{WallNS: []int64{1e6, 1e6, 1e6}, Cores: []CoreCounts{
		{Core: 0, SMI: []uint64{0, 2, 0}}, {Core: 1, SMI: []uint64{0, 2, 1}}, {Core: 2},
	}}
	const want = "the firmware interrupted all cores 3 times (SMI) in 2 of 3 iterations, the first is 1"
	must.Equal(t, JudgeSMI(run), want)
	run.Cores = []CoreCounts{{SMI: []uint64{0, 0, results.MissingCount}}}
	must.Equal(t, JudgeSMI(run), "", "none")
}

// TestJudgeCounted: a thread without counters shows by the processor time that they missed.
func TestJudgeCounted(t *testing.T) {
	for _, tt := range []struct {
		counted, used time.Duration
		sentence      string
	}{
		{time.Second, time.Second, ""},
		{1200 * time.Millisecond, time.Second, ""}, // a process that was not reaped
		{975 * time.Millisecond, time.Second, ""},  // three ticks
		{99 * time.Second, 100 * time.Second, ""},
		{50 * time.Second, 100 * time.Second, "missed 50 %"}, // one of two threads
		{0, 40 * time.Millisecond, "missed 100 %"},
	} {
		got := strings.Join(JudgeCounted(tt.counted, tt.used), "")
		must.Be(t, (got == "") == (tt.sentence == "") && strings.Contains(got, tt.sentence), tt, got)
	}
}
