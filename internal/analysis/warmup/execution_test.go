package warmup

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/steady"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestGeorges(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Georges
	}{
		{"nothing", nil, Georges{CoV: Real(math.NaN())}},
		{"shorter than the window", []float64{1, 1}, Georges{CoV: Real(math.NaN())}},
		{"constant", []float64{5, 5, 5}, Georges{true, 1, 0}},
		{"steady from the third", []float64{9, 6, 2, 2, 2, 7}, Georges{true, 3, 0}},
		// mean 10, sample standard deviation 1
		{"never", []float64{9, 10, 11}, Georges{CoV: 0.1}},
		{"the least of the windows", []float64{9, 10, 11, 10.5}, Georges{CoV: 0.5 / 10.5}},
		{"zeros", []float64{0, 0, 0}, Georges{CoV: Real(math.NaN())}},
		{"zeros, then steady", []float64{0, 0, 0, 4, 4, 4}, Georges{true, 4, 0}},
	} {
		got := georges(c.values, 3, 0.01)
		same := got.CoV == c.want.CoV || math.Abs(float64(got.CoV-c.want.CoV)) < 1e-12 ||
			math.IsNaN(float64(got.CoV)) && math.IsNaN(float64(c.want.CoV))
		must.Be(t, got.Found == c.want.Found && got.Iteration == c.want.Iteration && same, c.name, got,
			c.want)
	}
}

func TestDependenceOf(t *testing.T) {
	// R: acf(c(1, 3, 2, 5, 4), plot=FALSE)$acf[2] is 0.1 - ... computed by hand: mean 3; deviations
	// -2 0 -1 2 1; products 0 0 -2 2 = 0; squares 10.
	got, _ := dependenceOf([]float64{1, 3, 2, 5, 4})
	must.Equal(t, got, 0, got, "want 0 of 5")
	// deviations -1.5 -.5 .5 1.5: products .75 -.25 .75 = 1.25; squares 5.
	got, _ = dependenceOf([]float64{1, 2, 3, 4})
	must.Be(t, math.Abs(got-0.25) <= 1e-15, "a ramp of four", got, "want 0.25")
	for _, x := range [][]float64{nil, {1}, {1, 2}, {2, 2, 2, 2}, {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}} {
		got, dependent := dependenceOf(x)
		must.Be(t, math.IsNaN(got) && !dependent, x, got, "want NaN")
	}
}

func TestDependent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		correlation float64
		low, high   int // of 1000 segments
	}{
		{0, 1, 30}, {0.5, 995, 1000}, {-0.5, 995, 1000},
	} {
		found := 0
		for range 1000 {
			x := make([]float64, 200)
			noise := 0.0
			for i := range x {
				noise = c.correlation*noise + r.NormFloat64()
				x[i] = 5 + noise
			}
			if _, dependent := dependenceOf(x); dependent {
				found++
			}
		}
		must.Be(t, found >= c.low && found <= c.high, "correlation", c.correlation, "dependent", found,
			"of 1000", c.low, c.high)
	}
	_, dependent := dependenceOf([]float64{1, 9, 1, 9, 1, 9, 1, 9})
	must.Be(t, !dependent, "eight values were called dependent")
}

// TestOneSteadyMean: an execution's steady mean counts each iteration once, as the performance of
// its key does. Ten executions have 40 iterations of 90 ns and 360 of 62 ns, all of one steady
// state because the study's delta is 1 ms. Mode paper counts the iteration at the changepoint
// twice, so each mean is (41*90 + 360*62)/401 = 64.86 ns, and the performance cannot be outside of
// them. (The mean of the two segments' means would be 76 ns.)
func TestOneSteadyMean(t *testing.T) {
	d := &dataset.Dataset{}
	for range 10 {
		values := make([]float64, 400)
		for i := range values {
			values[i] = 62e-9 + float64(i%2)*2e-13
			if i < 40 {
				values[i] += 28e-9
			}
		}
		d.Add(key.Key{Benchmark: "short", VM: "C", Variant: "default"}, completed(wall(values)))
	}
	p := mustAnalyze(t, d, quick(classify.Paper), Options{}).pair(t, "short")
	for _, e := range p.Executions {
		must.Need(t, e.Classification == classify.Flat && len(e.Segments) >= 2, e.Classification, "with",
			len(e.Segments), "segments; the case needs a flat execution with several")
		if math.Abs(e.Steady.Mean-64.86e-9) > 0.01e-9 || *e.Level != (steady.Level{Value: e.Steady.Mean,
			Rule: steady.SteadyState}) {
			t.Errorf("steady mean %v, level %v, want 64.86 ns", e.Steady.Mean, *e.Level)
		}
	}
	m := p.SteadyPerformance.Mean
	must.Be(t, math.Abs(m-64.86e-9) <= 0.1e-9, "performance", m, "want that of the executions")
	if l := p.Levels; l == nil || l.Count != 10 || l.Steady != 10 || math.Abs(l.Mean-64.86e-9) > 0.01e-9 {
		t.Errorf("levels %+v", l)
	}
}

// TestLevelOfShortExecutions: executions of one iteration, as hyperfine's, have no class but a
// level; those that failed have none.
func TestLevelOfShortExecutions(t *testing.T) {
	d := &dataset.Dataset{}
	k := key.Key{Benchmark: "command", VM: "sh", Variant: "default"}
	for _, v := range []float64{1, 2, 6} {
		d.Add(k, completed(wall([]float64{v})))
	}
	failed := completed(wall([]float64{100}))
	failed.Outcome = results.Error
	d.Add(k, failed)
	p := mustAnalyze(t, d, quick(classify.Relative), Options{}).pair(t, "command")
	if p.Classification != classify.None || p.Levels == nil || p.Levels.Median != 2 || p.Levels.Mean != 3 ||
		p.Levels.Count != 3 || p.Levels.Steady != 0 {
		t.Errorf("class %q, levels %+v", p.Classification, p.Levels)
	}
	e := p.Executions
	w := p.Warnings
	must.Be(t, len(w) == 1 && w[0].Code == "too_short", "warnings", w)
	must.Be(t, e[0].Status == Refused && e[0].Level.Rule == steady.SecondHalf && e[3].Level == nil,
		"executions", e)
}

// TestInstrumentedIsMarked: an instrumented key has its level and a warning, another hash than the
// same data without, and executions that were instrumented differently do not count in it.
func TestInstrumentedIsMarked(t *testing.T) {
	analyze := func(levels ...string) *Pair {
		d := &dataset.Dataset{}
		for _, level := range levels {
			d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, dataset.Execution{
				Outcome: results.Completed, Instrument: level, Columns: []dataset.Column{{Name: dataset.Wall,
					Unit: dataset.Seconds, Core: dataset.NoCore, Reals: []float64{1, 2, 1, 2, 1, 2, 1, 2}}}})
		}
		doc := must.Get(Analyze(d, Default(classify.Relative), Options{NoPerformance: true}))(t)
		return &doc.Pairs[0]
	}
	marked := func(p *Pair) bool {
		return len(p.Warnings) > 0 && p.Warnings[0].Code == warnInstrument &&
			strings.Contains(p.Warnings[0].Text, "instrumented ("+p.Instrument+")")
	}
	clean, events, mixed := analyze("", ""), analyze("events", "events"), analyze("events", "", "events")
	must.Be(t, clean.Instrument == "" && !marked(clean) && clean.InputHash != events.InputHash, "clean",
		clean.Warnings)
	must.Be(t, events.Instrument == "events" && marked(events) && events.Status.Analysed == 2, "events",
		events)
	if mixed.Status != (StatusCounts{Analysed: 2, Refused: 1}) || mixed.Executions[1].Problem !=
		"it was not instrumented and the first execution was instrumented (events); they are not mixed" {
		t.Errorf("mixed: %+v, %q", mixed.Status, mixed.Executions[1].Problem)
	}
}

func TestMigrations(t *testing.T) {
	for _, c := range []struct {
		name   string
		cores  []int
		cycles [][]uint64
		want   string // main, share, spread, moves
	}{
		{"no cores", nil, nil, "{-1 0 0 []}"},
		{"no iterations", []int{0}, [][]uint64{{}}, "{-1 0 0 []}"},
		{"stays", []int{0, 3}, [][]uint64{{1, 2, 1}, {900, 900, 900}}, "{3 1 0 []}"},
		{"moves away and back", []int{1, 2}, [][]uint64{{9, 9, 0, 9}, {0, 1, 9, 1}},
			"{1 0.75 0 [{3 1 2} {4 2 1}]}"},
		{"two threads", []int{0, 1}, [][]uint64{{5, 9, 5, 9}, {5, 1, 5, 1}}, "{0 0.5 0.5 []}"},
		{"a move through a shared iteration", []int{0, 1}, [][]uint64{{9, 5, 0, 0}, {0, 5, 9, 9}},
			"{1 0.5 0.25 [{3 0 1}]}"},
		{"all idle", []int{0, 1}, [][]uint64{{0, 0}, {0, 0}}, "{-1 0 1 []}"},
		{"counters near their end", []int{0, 1}, [][]uint64{{1<<64 - 1}, {1}}, "{0 1 0 []}"},
	} {
		must.Equal(t, fmt.Sprint(findMigrations(c.cores, c.cycles)), c.want, c.name)
	}
}

// TestEachKey: every key is answered from its usable executions, and the errors name their keys.
func TestEachKey(t *testing.T) {
	var calls [][2]int
	usable, err := EachKey(experiment(), dataset.Wall, 2, func(p *dataset.Pair, s KeySeries) (int, error) {
		if p.Key.Benchmark == "flat" {
			return 0, ErrParameters
		}
		must.Equal(t, len(s.Series)+len(s.LeftOut), len(p.Executions), p.Key)
		return len(s.Numbers), nil
	}, func(n, of int) { calls = append(calls, [2]int{n, of}) })
	must.Fail(t, err, ErrParameters)
	must.Contain(t, err.Error(), "flat:vm:default-c: ")
	must.EqualList(t, usable, []int{5, 0, 5, 3, 0})
	must.Be(t, len(calls) == 5 && calls[4] == [2]int{23, 23}, calls)
	text := must.Get(json.Marshal(Reals{1, math.NaN()}))(t)
	must.Equal(t, string(text), "[1,null]")
}
