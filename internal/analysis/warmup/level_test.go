package warmup

import (
	"math"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/steady"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

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
