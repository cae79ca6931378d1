package compare

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/key"
)

// side makes an experiment of one benchmark per level: executions of 300 iterations that differ by
// between from each other, and by 1% within.
func side(t *testing.T, seed uint64, executions int, between float64, levels map[string]float64) Side {
	t.Helper()
	d := &dataset.Dataset{}
	for _, name := range []string{"a", "b", "c", "d"} {
		level, ok := levels[name]
		if !ok {
			continue
		}
		r := rand.New(rand.NewPCG(seed, uint64(name[0])))
		for range executions {
			centre := math.Abs(level) * (1 + between*r.NormFloat64())
			values := make([]float64, 300)
			for i := range values {
				values[i] = centre * (1 + 0.01*r.NormFloat64())
				if level < 0 && i > 270 { // no steady state
					values[i] *= 2
				}
			}
			d.Add(key.Key{Benchmark: name, VM: "v", Variant: "x"},
				dataset.Execution{Outcome: dataset.Completed, Columns: []dataset.Column{
					{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore, Reals: values}}})
		}
	}
	return analysed(t, d)
}

func analysed(t *testing.T, d *dataset.Dataset) Side {
	t.Helper()
	p := warmup.Default(classify.Paper)
	p.Resamples = 1000
	doc, err := warmup.Analyze(d, p, warmup.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Side{doc, d}
}

func TestVerdicts(t *testing.T) {
	before := side(t, 1, 10, 0.002, map[string]float64{"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5})
	after := side(t, 2, 10, 0.002, map[string]float64{"a": 0.5, "b": 0.45, "c": 0.6, "d": -0.5})
	r, err := Of(before, after, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Verdict{Same, Better, Worse, Worse} {
		if c := r.Changes[i]; c.Verdict != want {
			t.Errorf("%s: %s, want %s: %+v", c.Key, c.Verdict, want, c)
		}
	}
	b := r.Changes[1]
	if b.Ratio.Low > 0.9 || b.Ratio.High < 0.9 || b.Ratio.Effect != -1 || b.Performance.Verdict != Better {
		t.Errorf("ratio of b: %+v", b.Ratio)
	}
	if r.Tests != 3 || math.Abs(r.Level-(1-0.01/3)) > 1e-15 || r.Counts[Worse] != 2 {
		t.Errorf("%d tests at level %v, %v", r.Tests, r.Level, r.Counts)
	}
}

// TestMirror: exchanging the sides turns each verdict, and inverts each ratio.
func TestMirror(t *testing.T) {
	for seed := range uint64(6) {
		a := side(t, 2*seed+1, 5, 0.01, map[string]float64{"a": 0.5, "b": 0.505, "c": 0.5, "d": -0.5})
		b := side(t, 2*seed+2, 4, 0.01, map[string]float64{"a": 0.5, "b": 0.5, "c": 0.6, "d": 0.5})
		there, err := Of(a, b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		back, err := Of(b, a, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range there.Changes {
			m := back.Changes[i]
			if c.Verdict != m.Verdict.Mirror() || c.Classification != m.Classification.Mirror() ||
				c.Performance.Verdict != m.Performance.Verdict.Mirror() ||
				c.SteadyIteration.Verdict != m.SteadyIteration.Verdict.Mirror() {
				t.Errorf("seed %d: %s is %s, its mirror %s", seed, c.Key, c.Verdict, m.Verdict)
			}
			if c.Ratio.Low != 0 && (!near(c.Ratio.Low*m.Ratio.High, 1) ||
				!near(c.Ratio.Ratio*m.Ratio.Ratio, 1) || c.Ratio.Effect != -m.Ratio.Effect) {
				t.Errorf("seed %d: %s: %+v and %+v", seed, c.Key, c.Ratio, m.Ratio)
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// TestFalseAlarms: of experiments that differ by chance alone, no more than the confidence allows
// are told apart.
func TestFalseAlarms(t *testing.T) {
	alarms, told := 0, 0
	const rounds = 40
	for seed := range uint64(rounds) {
		levels := map[string]float64{"a": 0.5}
		r, err := Of(side(t, 1000+2*seed, 10, 0.01, levels), side(t, 1001+2*seed, 10, 0.01, levels),
			Options{Resamples: 4000})
		if err != nil {
			t.Fatal(err)
		}
		switch r.Changes[0].Ratio.Verdict {
		case Better, Worse:
			alarms++
		case Same:
			told++
		}
	}
	t.Logf("%d of %d called different, %d the same", alarms, rounds, told)
	if alarms > 3 { // 1% are expected, and a bootstrap of 10 is a little narrow
		t.Errorf("%d of %d were called different", alarms, rounds)
	}
}

// TestWorkers: their number changes nothing.
func TestWorkers(t *testing.T) {
	levels := map[string]float64{"a": 0.5, "b": 0.45, "c": 0.6, "d": -0.5}
	a, b := side(t, 1, 4, 0.01, levels), side(t, 2, 4, 0.01, levels)
	one, err := Of(a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{2, 9} {
		if many, err := Of(a, b, Options{Workers: workers}); err != nil || !reflect.DeepEqual(one, many) {
			t.Errorf("%d workers: %+v, %v", workers, many, err)
		}
	}
}

func TestCannotTell(t *testing.T) {
	one := map[string]float64{"a": 0.5, "b": 0.5}
	r, err := Of(side(t, 1, 2, 0.01, one), side(t, 2, 2, 0.01, map[string]float64{"a": 0.7, "c": 0.5}),
		Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Changes) != 3 || r.Counts[CannotTell] != 3 || r.Changes[1].OnlyIn != "before" ||
		r.Changes[2].OnlyIn != "after" {
		t.Errorf("%+v", r)
	}
	for _, c := range r.Changes {
		if len(c.Warnings) == 0 {
			t.Errorf("%s does not say why", c.Key)
		}
	}
	same := side(t, 3, 8, 0.002, one)
	if r, err = Of(same, same, Options{}); err != nil || r.Counts[Same] != 2 ||
		r.Changes[0].Ratio.Ratio != 1 {
		t.Errorf("with itself: %+v, %v", r, err)
	}
	empty := analysed(t, &dataset.Dataset{})
	if r, err = Of(empty, empty, Options{}); err != nil || len(r.Changes) != 0 {
		t.Errorf("nothing with nothing: %+v, %v", r, err)
	}
}

func TestRefuses(t *testing.T) {
	a := side(t, 1, 2, 0.01, map[string]float64{"a": 0.5})
	other := *a.Doc
	other.Parameters.Delta.Value = 0.5
	for _, b := range []Side{{&other, a.Data}, {a.Doc, &dataset.Dataset{}}} {
		if _, err := Of(a, b, Options{}); !errors.Is(err, ErrDifferent) {
			t.Errorf("got %v", err)
		}
	}
}

// TestCliff: the numbers of Cliff's definition.
func TestCliff(t *testing.T) {
	for _, c := range []struct {
		before, after []float64
		want          float64
	}{
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{3, 4}, []float64{1, 2}, -1},
		{[]float64{1, 2}, []float64{1, 2}, 0},
		{[]float64{1, 3}, []float64{2, 2, 4}, 1. / 3},
	} {
		if got := cliff(c.before, c.after); !near(got, c.want) {
			t.Errorf("%v %v: %v, want %v", c.before, c.after, got, c.want)
		}
	}
}
