package optimize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// suiteOf makes a suite of one benchmark on the paper's levels from
// value(sr, it, bed).
func suiteOf(full Position, value func(Position) float64) *Suite {
	b := Benchmark{Name: "b", Full: full, Seconds: 1}
	for i := range full[0] {
		for j := range full[1] {
			for k := range full[2] {
				at := Position{i + 1, j + 1, k + 1}
				b.Rows = append(b.Rows, Row{1, at, value(at)})
			}
		}
	}
	return &Suite{Info: dataset.Info{Source: "x"}, Unit: "ns", Levels: []Level{SuiteRuns(),
		{Name: "iterations"}, {Name: "seconds", Duration: true}}, Benchmarks: []Benchmark{b}}
}

// noise makes values around 1000 with a relative spread.
func noise(seed uint64, spread float64) func(Position) float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(Position) float64 { return 1000 * math.Abs(1+spread*r.NormFloat64()) }
}

func only(t *testing.T, s *Suite, o Options) Result {
	t.Helper()
	results := must.Get(Optimize(s, o, nil))(t)
	return results[0]
}

func TestCandidates(t *testing.T) {
	s := suiteOf(Position{3, 5, 5}, noise(1, 0))
	list := func(o Options) []candidate { return newSearch(s, 0, o).candidates() }
	got := list(Options{Steps: DefaultSteps})
	must.Be(t, len(got) == 60 && got[59].at == (Position{3, 5, 5}) && got[0].at == (Position{1, 3, 1}) &&
		got[1].at == (Position{3, 1, 1}) && got[1].seconds == got[0].seconds &&
		got[2].seconds > got[1].seconds, len(got), "candidates", got[:3], "first")
	for _, c := range []struct{ outermost, n int }{{1, 60}, {2, 45}, {3, 25}, {9, 25}} {
		must.Equal(t, len(list(Options{Steps: -1, Outermost: c.outermost})), c.n, "at least", c.outermost)
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		full  int32
		steps int
		n     int
	}{{5, 100, 5}, {100, 100, 100}, {2000, -1, 2000}, {101, 100, 55}, {2000, 2, 2}, {1, 2, 1}} {
		list := stepsOf(c.full, c.steps)
		must.Be(t, len(list) == c.n && list[0] == 1 && list[len(list)-1] == c.full && slices.IsSorted(list),
			c, list)
	}
}

// TestDegenerate documents what becomes of data that say nothing.
func TestDegenerate(t *testing.T) {
	constant := func(v float64) func(Position) float64 { return func(Position) float64 { return v } }
	for _, c := range []struct {
		name   string
		full   Position
		value  func(Position) float64
		stable bool
		at     Position
		warn   string
	}{
		{"equal values", Position{3, 5, 5}, constant(7), true, Position{1, 3, 1}, ""},
		{"zeros", Position{3, 5, 5}, constant(0), false, Position{3, 5, 5}, "average is 0"},
		{"one value", Position{1, 1, 1}, constant(7), false, Position{1, 1, 1}, "fewer than 3 repetitions"},
		{"one repetition of many seconds", Position{1, 1, 9}, constant(7), false, Position{1, 1, 9},
			"fewer than 3 repetitions"},
		{"wild", Position{3, 5, 5}, noise(1, 0.5), false, Position{3, 5, 5}, "no configuration is stable"},
		{"huge", Position{3, 5, 5}, constant(math.MaxFloat64), false, Position{3, 5, 5}, ""},
	} {
		for _, m := range Metrics() {
			for _, published := range []bool{false, true} {
				r := only(t, suiteOf(c.full, c.value), Options{Metric: m, Published: published,
					Resamples: 200})
				if c.name == "huge" { // sums overflow, medians do not
					continue
				}
				at := c.at
				if m == RCIW2 && !published && c.stable {
					at = Position{1, 5, 1} // the interval needs five values
				}
				if r.Stable != c.stable || r.Minimal.At != at ||
					!strings.Contains(strings.Join(r.Warnings, " "), c.warn) {
					t.Errorf("%s, %s, published %v: stable %v at %v, %v", c.name, m, published, r.Stable,
						r.Minimal.At, r.Warnings)
				}
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	good := suiteOf(Position{3, 1, 1}, noise(1, 0))
	for name, breakIt := range map[string]func(*Suite){
		"no level":        func(s *Suite) { s.Levels = nil },
		"four levels":     func(s *Suite) { s.Levels = make([]Level, 4) },
		"NaN":             func(s *Suite) { s.Benchmarks[0].Rows[1].Value = math.NaN() },
		"infinity":        func(s *Suite) { s.Benchmarks[0].Rows[1].Value = math.Inf(1) },
		"negative":        func(s *Suite) { s.Benchmarks[0].Rows[1].Value = -1 },
		"beyond the full": func(s *Suite) { s.Benchmarks[0].Rows[1].At[1] = 2 },
		"position 0":      func(s *Suite) { s.Benchmarks[0].Rows[1].At[0] = 0 },
		"instance 0":      func(s *Suite) { s.Benchmarks[0].Rows[1].Instance = 0 },
		"full 0":          func(s *Suite) { s.Benchmarks[0].Full[0] = 0 },
		"time":            func(s *Suite) { s.Benchmarks[0].Seconds = math.NaN() },
	} {
		bad := suiteOf(Position{3, 1, 1}, noise(1, 0))
		breakIt(bad)
		_, err := Optimize(bad, Options{}, nil)
		must.Fail(t, err, ErrData, name)
	}
	for _, o := range []Options{
		{Metric: "x"}, {Threshold: -1}, {Threshold: math.NaN()}, {Accuracy: -1}, {Level: 1}, {Level: -0.5},
		{Resamples: -1}, {Resamples: mostResamples + 1},
		{Instances: -1}, {Steps: -2}, {Steps: 1}, {Overhead: -1}, {Outermost: -1}, {Overhead: math.NaN()},
	} {
		_, err := Optimize(good, o, nil)
		must.Fail(t, err, ErrOptions, o)
		_, err = Choose(good, Minimum, o)
		must.Fail(t, err, ErrOptions, o)
	}
}

// TestWorkers finds the same results from any number of goroutines.
func TestWorkers(t *testing.T) {
	s := suiteOf(Position{3, 4, 1}, noise(1, 0.01))
	for i := range 7 {
		more := suiteOf(Position{3, 4, 1}, noise(uint64(i), 0.02)).Benchmarks[0]
		more.Name += string(rune('0' + i))
		s.Benchmarks = append(s.Benchmarks, more)
	}
	calls := 0
	one, err := Optimize(s, Options{Metric: RCIW2, Resamples: 300}, func(int) { calls++ })
	must.Need(t, err == nil && calls == len(s.Benchmarks), err, calls)
	many := must.Get(Optimize(s, Options{Metric: RCIW2, Resamples: 300, Workers: 5}, nil))(t)
	for i := range one {
		must.Equal(t, fmt.Sprintf("%+v", one[i]), fmt.Sprintf("%+v", many[i]))
	}
}

// TestUnits finds the same configuration whatever the unit is; the published
// RCIW2 does not promise that.
func TestUnits(t *testing.T) {
	for _, m := range Metrics() {
		for _, scale := range []float64{0x1p-30, 0x1p+20} {
			a := only(t, suiteOf(Position{3, 5, 2}, noise(3, 0.008)), Options{Metric: m, Resamples: 500})
			n := noise(3, 0.008)
			b := only(t, suiteOf(Position{3, 5, 2}, func(p Position) float64 { return scale * n(p) }),
				Options{Metric: m, Resamples: 500})
			must.Be(t, a.Minimal.At == b.Minimal.At && a.Minimal.Metric(m) == b.Minimal.Metric(m), m,
				a.Minimal, b.Minimal)
		}
	}
}

// TestThreshold never chooses more time for a wider threshold.
func TestThreshold(t *testing.T) {
	for _, m := range Metrics() {
		last := math.Inf(1)
		for _, threshold := range []float64{0.001, 0.005, 0.01, 0.02, 0.05, 1} {
			r := only(t, suiteOf(Position{3, 5, 3}, noise(5, 0.02)), Options{Metric: m, Threshold: threshold,
				Resamples: 500})
			must.Be(t, r.Minimal.Seconds <= last, m, "threshold", threshold, "takes", r.Minimal.Seconds,
				"s, a smaller one", last, "s")
			if r.Stable && !(float64(r.Minimal.Metric(m)) < threshold) {
				t.Errorf("%s: %g is not below %g", m, r.Minimal.Metric(m), threshold)
			}
			last = r.Minimal.Seconds
		}
	}
}

func TestInstances(t *testing.T) {
	s := suiteOf(Position{3, 1, 1}, noise(1, 0))
	s.Benchmarks[0].Rows = append(s.Benchmarks[0].Rows, Row{2, Position{1, 1, 1}, 5000})
	r := only(t, s, Options{Metric: CV})
	must.Be(t, r.Full.Values == 3 && r.Full.Mean == 1000, r.Full)
	r = only(t, s, Options{Metric: CV, Instances: 2})
	must.Be(t, r.Full.Values == 4 && r.Full.Mean == 2000, r.Full)
	must.Contain(t, strings.Join(r.Warnings, ""), "2 of 6 values are missing")
	s.Benchmarks[0].Rows = s.Benchmarks[0].Rows[3:]
	r = only(t, s, Options{Metric: CV})
	must.Be(t, !r.Stable && r.Full.Values == 0, r)
	must.Contain(t, strings.Join(r.Warnings, ""), "on the first 1 of the instances")
}

// TestLucky warns of a first suite run that is stable at a different level, and
// gives it no confidence.
func TestLucky(t *testing.T) {
	s := suiteOf(Position{3, 5, 1}, func(p Position) float64 {
		if p[0] == 1 {
			return 900 + float64(p[1]%2)
		}
		return 1000 + float64(p[1]%2)
	})
	r := only(t, s, Options{Metric: RMAD})
	if r.Minimal.At[0] != 1 || r.Confidence < 0.5 || r.Confidence > 0.8 ||
		!strings.Contains(strings.Join(r.Warnings, ""), "at a different level") {
		t.Errorf("%+v", r)
	}
	r = only(t, s, Options{Metric: RMAD, Near: true})
	must.Be(t, r.Stable && r.Minimal.At[0] != 1 && len(r.Warnings) == 0 &&
		math.Abs(float64(r.AverageDiff)) <= 0.03, "near", r)
	r = only(t, s, Options{Metric: RMAD, Overhead: 1})
	must.Equal(t, r.Minimal.Seconds, 6, r.Minimal)
}

// TestSparse is done soon with positions that nearly nothing was measured at.
func TestSparse(t *testing.T) {
	s := suiteOf(Position{2, 2, 1}, noise(1, 0))
	s.Benchmarks[0].Full = Position{1_000_000, 1_000_000, 1_000_000}
	r := only(t, s, Options{Metric: CV, Steps: 9})
	must.Be(t, r.Stable && r.Full.Values == 4 && strings.Contains(strings.Join(r.Warnings, ""), "missing"), r)
	s = suiteOf(Position{2, 2, 1}, noise(1, 0.5))
	s.Benchmarks[0].Full = Position{1_000_000, 1_000_000, 1_000_000}
	r = only(t, s, Options{Metric: CV, Steps: 9})
	must.Be(t, !r.Stable && r.Confidence == 1, r)
}

func recorded(values ...[]float64) *dataset.Dataset {
	d := &dataset.Dataset{}
	for _, v := range values {
		d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "d"}, dataset.Execution{
			Outcome: results.Completed, Columns: []dataset.Column{{Name: dataset.Wall, Unit: "s",
				Core: dataset.NoCore, Reals: v}},
		})
	}
	return d
}

func TestFromDataset(t *testing.T) {
	d := recorded([]float64{3, 1, 1}, []float64{2, 1}, []float64{1, math.NaN()}, nil, []float64{9})
	d.Pairs[0].Executions[1].Outcome = results.Error
	s, err := FromDataset(d, Reading{Skip: func(string) int { return 1 }})
	must.Do(t, err)
	b := s.Benchmarks[0]
	if b.Full != (Position{1, 2, 1}) || len(b.Rows) != 2 || b.Rows[1] != (Row{1, Position{1, 2, 1}, 1}) ||
		math.Abs(b.Seconds-5./3) > 1e-15 || len(b.Warnings) != 4 {
		t.Errorf("%+v", b)
	}
	empty := &Suite{Levels: s.Levels, Benchmarks: []Benchmark{{Name: "e", Full: Position{1, 1, 1}}}}
	r := only(t, empty, Options{Overhead: 9})
	must.Be(t, !r.Stable && r.Full.Seconds == 0 && math.IsNaN(float64(r.Confidence)) && len(r.Warnings) == 1,
		"nothing", r)
	must.Equal(t, b.time(Position{2, 1, 1}, 2, 10), 2*2*b.Seconds+20, "time")
	must.Do(t, s.Check())
	s = must.Get(FromDataset(recorded([]float64{1}, []float64{3, 4}), Reading{Seconds: 7}))(t)
	b = s.Benchmarks[0]
	must.Be(t, b.Full == (Position{2, 2, 1}) && len(b.Rows) == 3 && b.Seconds == 7, b)
	must.Get(Optimize(s, Options{}, nil))(t)
}

func TestChange(t *testing.T) {
	at := func(v, half float64) Summary { return Summary{warmup.Real(v), newInterval(v-half, v+half)} }
	for _, c := range []struct {
		name          string
		before, after Summary
		want          Direction
	}{
		{"slower", at(100, 1), at(110, 1), Slower},
		{"faster", at(100, 1), at(90, 1), Faster},
		{"too little", at(100, 0), at(103, 0), Unchanged},
		{"overlap", at(100, 6), at(110, 6), Unchanged},
		{"touching intervals do not overlap", at(100, 5), at(110, 5), Slower},
		{"touching from above", at(100, 5), at(90, 5), Faster},
		{"from zero", at(0, 0), at(1, 0), Slower},
		{"NaN", at(math.NaN(), 1), at(1, 0), Unchanged},
	} {
		must.Equal(t, Change(c.before, c.after, DefaultChange), c.want, c.name)
	}
}

func TestCompare(t *testing.T) {
	at := func(v float64) Summary { return Summary{warmup.Real(v), newInterval(v, v)} }
	before := map[string]Both{}
	after := map[string]Both{"new": {}}
	for name, v := range map[string][2]float64{"tp": {110, 110}, "fn": {110, 100}, "fp": {100, 110},
		"tn": {100, 100}, "down": {90, 90}} {
		before[name], after[name] = Both{at(100), at(100)}, Both{at(v[0]), at(v[1])}
	}
	two, one := Compare(before, after, DefaultChange, false), Compare(before, after, DefaultChange, true)
	if two.Benchmarks != 5 || two.TP != 2 || two.FN != 1 || two.FP != 1 || two.TN != 1 || two.FPR != 0.5 ||
		math.Abs(two.FNR-1./3) > 1e-15 || len(two.All) != 4 {
		t.Errorf("%+v", two)
	}
	must.Be(t, one.TP == 1 && one.TN == 2, one)
	none := Compare(nil, nil, 0.03, false)
	must.Be(t, none.FPR == 0 && none.FNR == 0, none)
	r := Sum(nil)
	must.Be(t, math.IsNaN(r.FPR[2]), r)
}

func TestVersionsRefuseOtherLevels(t *testing.T) {
	a, b := suiteOf(Position{3, 1, 1}, noise(1, 0)), suiteOf(Position{3, 1, 1}, noise(1, 0))
	b.Levels = b.Levels[:1]
	_, err := Versions([]*Suite{a, b}, nil, 0.03, Options{})
	must.Fail(t, err, ErrData)
	list, err := Versions([]*Suite{a}, nil, 0.03, Options{})
	must.Be(t, err == nil && len(list) == 0, list, err)
}

func TestChooseRandom(t *testing.T) {
	s := suiteOf(Position{3, 5, 5}, noise(1, 0))
	seen := map[Position]int{}
	for seed := range uint64(300) {
		results := must.Get(Choose(s, Random, Options{Metric: CV, Seed: seed}))(t)
		seen[results[0].Minimal.At]++
	}
	must.Be(t, len(seen) >= 50 && seen[Position{3, 5, 5}] <= 30, len(seen), "of 60 candidates were drawn",
		seen)
	results, err := Choose(suiteOf(Position{1, 1, 1}, noise(1, 0)), Random, Options{})
	must.Be(t, err == nil && results[0].Minimal.At == (Position{1, 1, 1}), results, err)
}

// FuzzOptimize finds panics and results out of range for any values.
func FuzzOptimize(f *testing.F) {
	f.Add(uint8(3), uint8(2), uint8(1), []byte{1, 2, 3, 4, 5, 6}, false)
	f.Add(uint8(1), uint8(9), uint8(2), []byte{0, 0, 255, 255}, true)
	f.Fuzz(func(t *testing.T, a, b, c uint8, data []byte, published bool) {
		full := Position{int32(a%4) + 1, int32(b%6) + 1, int32(c%3) + 1}
		i := 0
		s := suiteOf(full, func(Position) float64 {
			if len(data) == 0 {
				return 0
			}
			i++
			return math.Ldexp(float64(data[i%len(data)]), int(data[(i+1)%len(data)])*8-1030)
		})
		if len(data) > 0 && data[0]%3 == 0 {
			s.Benchmarks[0].Rows = s.Benchmarks[0].Rows[:len(s.Benchmarks[0].Rows)/2]
		}
		for _, m := range Metrics() {
			o := Options{Metric: m, Resamples: 20, Published: published}
			r := only(t, s, o)
			if r.Minimal.Seconds > r.Full.Seconds || r.Stable && !(r.Minimal.Metric(m) < DefaultThreshold) ||
				r.Confidence < 0 || r.Confidence > 1 {
				t.Errorf("%+v", r)
			}
			must.Get(Versions([]*Suite{s, s}, []Result{r}, DefaultChange, o))(t)
		}
	})
}
