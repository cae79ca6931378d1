package stability

import (
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestCalls: histograms of iterations decide as a series in which each call is recorded, with
// steps of as many calls as an iteration has.
func TestCalls(t *testing.T) {
	const iterations, perIteration = 40, 50
	r := rand.New(rand.NewPCG(1, 2))
	var series, means [][]float64
	var calls []*dataset.Calls
	for range 3 {
		c := &dataset.Calls{Seconds: 1}
		var all, mean []float64
		for i := range iterations {
			level := 10 + 40/(1+float64(i))
			var h dataset.Histogram
			sum := 0.0
			for v := range 10 {
				value := level + float64(v) + r.Float64()/10
				h.Values, h.Counts = append(h.Values, value), append(h.Counts, perIteration/10)
				for range perIteration / 10 {
					all = append(all, value)
					sum += value
				}
			}
			c.Iterations, mean = append(c.Iterations, h), append(mean, sum/perIteration)
		}
		series, means, calls = append(series, all), append(means, mean), append(calls, c)
	}
	p := Default()
	p.WarmupMax, p.Measure, p.Full, p.Resamples, p.QualityResamples = 20, 5, 10, 100, 200
	p.Exact, p.Step = true, Length{Iterations: perIteration}
	want := must.Get(Of(series, []Criterion{CV}, p))(t)
	p.Calls, p.Step = calls, Auto
	got := must.Get(Of(means, []Criterion{CV}, p))(t)
	must.Be(t, got.Step == (Length{Iterations: 1}) && got.FullSeconds == 3*30, "step", got.Step, "full",
		got.FullSeconds, "s")
	for i := range want.Criteria {
		w, g := want.Criteria[i], got.Criteria[i]
		for e := range w.Warmups {
			x, y := w.Warmups[e], g.Warmups[e]
			if x.Steps != y.Steps || y.From != y.Steps || y.To != y.Steps+5 ||
				x.From != y.From*perIteration || len(x.Values) != len(y.Values) {
				t.Errorf("execution %d: %+v, want %+v", e+1, y, x)
				continue
			}
			for k, v := range x.Values {
				must.Be(t, within(y.Values[k], v, 1e-12), "execution", e+1, "step", k+1, "cv",
					y.Values[k], "want", v)
			}
		}
		if w.Used != g.Used || w.Quality.Same != g.Quality.Same ||
			!within(g.Quality.Mean, w.Quality.Mean, 1e-12) {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	p.Step = Length{Seconds: 2} // two iterations each: too few
	must.Refused(Of(means, []Criterion{CV}, p))(t, "", "20 steps are enough for 25")
}

// TestStopped: executions that the watcher ended are left out with that reason, and a key without
// others has it as its problem.
func TestStopped(t *testing.T) {
	execution := func(n int, stopped bool) dataset.Execution {
		wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore}
		for i := range n {
			wall.Reals = append(wall.Reals, 1+float64(i%3)/1000)
		}
		return dataset.Execution{Outcome: results.Completed, Stopped: stopped,
			Columns: []dataset.Column{wall}}
	}
	p := Default()
	p.Step, p.QualityResamples = Length{Iterations: 1}, 10
	d := &dataset.Dataset{}
	whole, short := key.Key{Benchmark: "a", VM: "v", Variant: "x"}, key.Key{Benchmark: "b", VM: "v",
		Variant: "x"}
	d.Add(whole, execution(100, false))
	d.Add(whole, execution(16, true))
	d.Add(short, execution(16, true))
	doc := must.Get(JudgeKeys(d, []Criterion{CV}, p, 1, nil))(t)
	const want = "it is too short: 16 steps of the 60 needed; [stop.iterations] ended it"
	if out := doc.Keys[0].LeftOut; len(out) != 1 || out[0].Execution != 2 || out[0].Problem != want {
		t.Errorf("%+v", out)
	}
	must.Be(t, strings.HasPrefix(doc.Keys[1].Problem, "its executions were ended by [stop.iterations]"),
		doc.Keys[1].Problem)
}
