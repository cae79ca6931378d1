package verdict

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

const baseHz = 3_600_000_000 // base frequency of the study's first machine

// busyRun is a sound execution of three iterations of one second: core 0 is busy at the base
// frequency, core 1 is idle with the unusual ratio of idle cores.
func busyRun() CounterRun {
	return CounterRun{
		StartNS: []int64{1_000, 1_000_002_000, 2_000_003_000},
		WallNS:  []int64{1_000_000_000, 1_000_000_000, 1_000_000_000},
		Cores: []CoreCounts{
			{Core: 0, APERF: []uint64{3_600_000_000, 3_590_000_000, 3_610_000_000},
				MPERF: []uint64{3_600_000_000, 3_600_000_000, 3_600_000_000}, Cycles: []uint64{3_600_000_000,
					3_600_000_000, 3_600_000_000}},
			{Core: 1, APERF: []uint64{3_000_000, 1000, 0}, MPERF: []uint64{1_000_000, 3000, 0},
				Cycles: []uint64{1, 2, 3}},
		},
	}
}

var studyLimits = CounterLimits{Tolerance: DefaultTolerance, BusyThreshold: BusyThreshold(baseHz)}

func TestJudgeCountersSound(t *testing.T) {
	j := JudgeCounters(busyRun(), studyLimits)
	must.Be(t, len(j.Reasons()) == 0 && len(j.Violations) == 0, "reasons", j.Reasons(), "violations",
		j.Violations, "want none")
	must.Equal(t, j.BusyThreshold, 36_000_000, "threshold", "want a hundredth of the rate of MPERF")
}

func TestJudgeCounters(t *testing.T) {
	tests := []struct {
		name   string
		change func(*CounterRun)
		want   []string
	}{
		{"throttled", func(r *CounterRun) { r.Cores[0].APERF[1] = 3_400_000_000 },
			[]string{"core 0 ran below its set frequency (throttled) in 1 of 3 iterations, the first is " +
				"1; APERF/MPERF at worst 0.944"}},
		{"turbo",
			func(r *CounterRun) { r.Cores[0].APERF[0], r.Cores[0].APERF[2] = 3_800_000_000, 4_000_000_000 },
			[]string{"core 0 ran above its set frequency (turbo) in 2 of 3 iterations, the first is 0; " +
				"APERF/MPERF at worst 1.111"}},
		{"both",
			func(r *CounterRun) { r.Cores[0].APERF[0], r.Cores[0].APERF[2] = 3_400_000_000, 4_000_000_000 },
			[]string{"throttled", "turbo"}},
		{"idle core wakes up",
			func(r *CounterRun) { r.Cores[1].APERF[2], r.Cores[1].MPERF[2] = 36_000_000, 72_000_000 },
			[]string{"core 1 ran below its set frequency (throttled) in 1 of 3 iterations, the first is " +
				"2; APERF/MPERF at worst 0.500"}},
		{"just idle",
			func(r *CounterRun) { r.Cores[1].APERF[2], r.Cores[1].MPERF[2] = 35_999_999, 72_000_000 }, nil},
		{"MPERF stands still",
			func(r *CounterRun) { r.Cores[0].MPERF[1] = 0 }, []string{"APERF/MPERF at worst +Inf"}},
		{"missing",
			func(r *CounterRun) {
				r.Cores[0].MPERF[1], r.Cores[0].APERF[1] = results.MissingCount, results.MissingCount
			},
			[]string{"APERF of core 0 is missing in 1 of 3 iterations, the first is 1", "MPERF of core 0 " +
				"is missing"}},
		{"backwards in 64 bits",
			func(r *CounterRun) { r.Cores[0].APERF[1] = math.MaxUint64 - 4 }, []string{"APERF of core 0 " +
				"went backwards in 1 of 3"}},
		{"backwards in 48 bits",
			func(r *CounterRun) { r.Cores[1].Cycles[2] = 1<<48 - 1 }, []string{"cycles of core 1 went " +
				"backwards in 1 of 3 iterations, the first is 2"}},
		{"wall below zero", func(r *CounterRun) { r.WallNS[2] = -1 }, []string{"the clock went backwards " +
			"in 1 of 3 iterations, the first is 2"}},
		{"start before the end",
			func(r *CounterRun) { r.StartNS[1] = 1_000_000_999 }, []string{"the clock went backwards in 1 " +
				"of 3 iterations, the first is 1"}},
		{"short series",
			func(r *CounterRun) { r.Cores[0].Cycles = r.Cores[0].Cycles[:1] }, []string{"cycles of core 0 " +
				"has 1 values for 3 iterations"}},
		{"all stand still", func(r *CounterRun) {
			for i := range r.Cores {
				r.Cores[i].APERF = []uint64{0, 0, 3_600_000_000 * uint64(1-i)}
			}
			r.Cores[0].Cycles[2], r.Cores[1].Cycles[2] = 0, 0
		}, []string{"APERF of all cores stood still in 2 of 3 iterations, the first is 0",
			"APERF of core 1 stood still in 3 of 3 iterations, the first is 0",
			"cycles of all cores stood still in 1 of 3 iterations, the first is 2"}},
		{"one stands still", func(r *CounterRun) {
			r.Cores[1].APERF, r.Cores[1].MPERF, r.Cores[1].Cycles = make([]uint64, 3), make([]uint64, 3),
				make([]uint64, 3)
		}, []string{"APERF of core 1 stood still in 3 of 3 iterations, the first is 0", "MPERF of core 1 " +
			"stood still", "cycles of core 1 stood still"}},
		{"no counters", func(r *CounterRun) { r.Cores = nil }, nil},
		{"cycles only", func(r *CounterRun) {
			for i := range r.Cores {
				r.Cores[i].APERF, r.Cores[i].MPERF = nil, nil
			}
		}, nil},
		{"whole", func(r *CounterRun) {
			*r = CounterRun{Whole: true, StartNS: r.StartNS[:1], WallNS: []int64{3_000_000_000},
				Cores: []CoreCounts{{APERF: []uint64{9_000_000_000}, MPERF: []uint64{10_800_000_000}}}}
		}, []string{"core 0 ran below its set frequency (throttled) over the execution; APERF/MPERF at " +
			"worst 0.833"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := busyRun()
			test.change(&run)
			j := JudgeCounters(run, studyLimits)
			must.Need(t, len(j.Reasons()) == len(test.want), "reasons", j.Reasons(), "want", test.want)
			for _, s := range j.Disturbed {
				must.Be(t, !strings.Contains(s, "missing") && !strings.Contains(s, "backwards"), s,
					"would be accepted")
			}
			for _, s := range j.Unsound {
				must.Be(t, !strings.Contains(s, "frequency") && !strings.Contains(s, "still"), s,
					"would never be accepted")
			}
			for i, want := range test.want {
				must.Contain(t, j.Reasons()[i], want, "reason", "in it")
			}
		})
	}
}

// TestToleranceEdges: values at the limits are accepted.
func TestToleranceEdges(t *testing.T) {
	for _, test := range []struct {
		aperf uint64
		want  []RatioViolation
	}{
		{1_030_000_000, nil},
		{970_000_000, nil},
		{1_030_000_001, []RatioViolation{{7, 0, Turbo, 1.030000001, 1}}},
		{969_999_999, []RatioViolation{{7, 0, Throttled, 0.969999999, 1}}},
	} {
		run := CounterRun{StartNS: []int64{0}, WallNS: []int64{1e9},
			Cores: []CoreCounts{{Core: 7, APERF: []uint64{test.aperf}, MPERF: []uint64{1e9}}}}
		must.EqualList(t, JudgeCounters(run, CounterLimits{Tolerance: 0.03}).Violations, test.want, "APERF",
			test.aperf)
	}
}

// TestDerivedThreshold: without a threshold, the busiest core determines the base frequency.
func TestDerivedThreshold(t *testing.T) {
	j := JudgeCounters(busyRun(), CounterLimits{Tolerance: 0.03})
	must.Be(t, j.BusyThreshold == 36_000_000 && len(j.Reasons()) == 0, "threshold", j.BusyThreshold,
		"reasons", j.Reasons(), "want 3.6e7 and none")
}

func TestSuggest(t *testing.T) {
	second := []int64{1e9, 1e9}
	idle := CounterRun{WallNS: second,
		Cores: []CoreCounts{{APERF: []uint64{100, 400_000}, MPERF: []uint64{300, 100_000}}}}
	busy := CounterRun{WallNS: second, Cores: []CoreCounts{{APERF: []uint64{3_600_000_000, 3_672_000_000},
		MPERF: []uint64{3_600_000_000, 3_600_000_000}}}}
	got := must.Get(Suggest(idle, busy))(t)
	must.Be(t, got.Tolerance == 0.03 && math.Abs(got.BusyThreshold-math.Sqrt(4e5*3.6e9)) <= 1, got,
		"want 1.5 times the 2% seen, and the geometric mean of 4e5 and 3.6e9")
	j := JudgeCounters(busy, got)
	must.Be(t, len(j.Reasons()) == 0, "the busy calibration run itself is refused", j.Reasons())
	j = JudgeCounters(idle, got)
	must.Be(t, len(j.Reasons()) == 0, "the idle calibration run itself is refused", j.Reasons())
	_, err := Suggest(busy, busy)
	must.Fail(t, err, ErrOverlap, "error", "want ErrOverlap")
	_, err = Suggest(CounterRun{}, busy)
	must.Fail(t, err, ErrNoRatio, "error", "want ErrNoRatio")
	steady := busy
	steady.Cores = []CoreCounts{{APERF: []uint64{3_600_000_000, 3_600_000_000}, MPERF: []uint64{3_600_000_000,
		3_600_000_000}}}
	got, err = Suggest(idle, steady)
	must.Be(t, err == nil && got.Tolerance == 0.01, got, err, "want the least tolerance")
}

// series returns a run of one core with iterations of the given length, a gap for the readings
// between them, and counts.
func series(n int, wall, gap int64, count func(i int) (aperf, mperf uint64)) CounterRun {
	run := CounterRun{Cores: []CoreCounts{{Core: 2}}}
	for i := range n {
		run.StartNS, run.WallNS = append(run.StartNS, int64(i)*(wall+gap)), append(run.WallNS, wall)
		a, m := count(i)
		run.Cores[0].APERF, run.Cores[0].MPERF = append(run.Cores[0].APERF, a), append(run.Cores[0].MPERF, m)
	}
	return run
}

// TestUnusualRuns covers the records of unusual experiments.
func TestUnusualRuns(t *testing.T) {
	const seed = 3
	random := rand.New(rand.NewPCG(seed, 0))
	// a microsecond between the readings of A and M at 3 GHz, in either direction
	jitter := func() uint64 { return random.Uint64N(6000) }
	tests := []struct {
		name string
		run  CounterRun
		want string // the only reason; "" for none
	}{
		{"all cores idle all the time",
			series(10, 1e9, 1000, func(i int) (uint64, uint64) { return 9000 + uint64(i), 4000 }), ""},
		{"all counters stand still for ever",
			series(3, 1e9, 1000, func(int) (uint64, uint64) { return 0, 0 }), "stood still"},
		{"only nulls",
			series(
				10,
				1e9,
				1000,
				func(int) (uint64, uint64) { return results.MissingCount, results.MissingCount },
			),
			"missing in 10 of 10"},
		{"half of the pair is missing",
			series(10, 1e9, 1000, func(int) (uint64, uint64) { return 3e9, results.MissingCount }),
			"MPERF of core 2 is missing in 10 of 10"},
		// 20 ns measured, 20 us counted: the rates by wall time would be a thousand times too high.
		{"short iterations, an idle core",
			series(5000, 20, 20_000, func(int) (uint64, uint64) { return 30, 10 }), ""},
		{"short iterations, a busy core that jitters",
			series(5000, 20, 20_000, func(int) (uint64, uint64) { return 60_000 + jitter(), 63_000 }), ""},
		{"short iterations, throttled",
			series(5000, 20, 20_000,
				func(int) (uint64, uint64) { return 50_000 + jitter(), 60_000 }), "throttled"},
		{"very short iterations, turbo",
			series(200_000, 20, 500, func(int) (uint64, uint64) { return 1800, 1500 }), "turbo"},
		{"too few very short iterations",
			series(20, 20, 500, func(int) (uint64, uint64) { return 1800, 1500 }), ""},
		{"a wrap in 32 bits", series(10, 1e9, 1000, func(i int) (uint64, uint64) {
			if i == 4 {
				return ^uint64(0) - 1<<32 + 2, 3e9
			}
			return 3e9, 3e9
		}), "APERF of core 2 went backwards in 1 of 10 iterations, the first is 4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := JudgeCounters(test.run, CounterLimits{Tolerance: DefaultTolerance})
			must.Be(t, (len(j.Reasons()) > 0) == (test.want != "") && (test.want == "" ||
				strings.Contains(j.Reasons()[0], test.want)), "seed", seed, j.Reasons(), "want", test.want,
				"threshold", j.BusyThreshold)
		})
	}
	short := series(100, 20, 500, func(int) (uint64, uint64) { return 1800, 1500 })
	idle := series(3, 1e9, 1000, func(int) (uint64, uint64) { return 9, 9 })
	_, err := Suggest(idle, short)
	must.Be(t, errors.Is(err, ErrNoRatio) && strings.Contains(err.Error(), "too short"),
		"limits from iterations that are too short", err)
}

// TestArbitraryRuns: for arbitrary counts nothing panics, each violation names an existing
// iteration, and the run is not modified.
func TestArbitraryRuns(t *testing.T) {
	const seed = 11
	random := rand.New(rand.NewPCG(seed, 0))
	values := []uint64{0, 1, 299_999, 300_000, 1 << 32, 1<<48 - 1, results.MissingCount, math.MaxUint64}
	pick := func(n int) []uint64 {
		list := make([]uint64, n)
		for i := range list {
			list[i] = values[random.IntN(len(values))]
		}
		return list
	}
	for range 500 {
		n := random.IntN(6)
		run := CounterRun{Whole: random.IntN(2) == 0}
		for range n {
			run.StartNS = append(run.StartNS, random.Int64()>>random.IntN(64))
			run.WallNS = append(run.WallNS, random.Int64()>>random.IntN(64)-5)
		}
		if random.IntN(3) == 0 {
			run.StartNS = nil
		}
		for core := range random.IntN(4) {
			run.Cores = append(run.Cores, CoreCounts{Core: core, APERF: pick(random.IntN(8)),
				MPERF: pick(random.IntN(8)), Cycles: pick(n)})
		}
		before := Join(run)
		j := JudgeCounters(run, CounterLimits{Tolerance: random.Float64(),
			BusyThreshold: float64(random.IntN(3))})
		for _, v := range j.Violations {
			must.Need(t, v.Iteration >= 0 && v.Iteration < n && !math.IsNaN(v.Ratio), "seed", seed, v, run)
		}
		if after := Join(run); !slices.EqualFunc(before.Cores, after.Cores,
			func(a, b CoreCounts) bool { return slices.Equal(a.APERF, b.APERF) }) {
			t.Fatalf("seed %d: the run was changed", seed)
		}
		_, _ = Suggest(run, run)
	}
}

// TestJudgeCycles: an arm64 core held at 2.4 GHz that runs the last part of the iterations at half
// of it; with the clock known by a frequency driver, and without one.
func TestJudgeCycles(t *testing.T) {
	const n = 100
	core, khz := 1, int64(2_400_000)
	held := []results.Frequency{{Core: &core, HeldKHz: &khz}}
	run := func(slow int) CounterRun {
		r := CounterRun{Cores: []CoreCounts{{Core: 0}, {Core: core}}}
		for i := range n {
			hz := uint64(2_400_000_000)
			if i >= n-slow {
				hz /= 2
			}
			r.StartNS, r.WallNS = append(r.StartNS, int64(i)*10_000_000), append(r.WallNS, 10_000_000)
			r.Cores[0].Cycles = append(r.Cores[0].Cycles, 1000)
			r.Cores[1].Cycles = append(r.Cores[1].Cycles, hz/100)
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		slow  int
		known []results.Frequency
		want  bool
	}{
		{"throttled", 40, held, true}, {"throttled, no driver", 40, nil, true},
		{"steady", 0, held, false}, {"steady, no driver", 0, nil, false},
		{"a few waits", 4, held, false}, {"mostly waiting", 60, held, false},
	} {
		got := JudgeCycles(run(tt.slow), tt.known, DefaultTolerance)
		must.Be(t, (got != "") == tt.want && (got == "" || strings.Contains(got, "50 % fewer cycles")),
			tt.name, got)
	}
	x86 := run(40)
	x86.Cores[1].APERF, x86.Cores[1].MPERF = x86.Cores[1].Cycles, x86.Cores[1].Cycles
	must.Equal(t, JudgeCycles(x86, held, DefaultTolerance), "", "with APERF and MPERF")
}
