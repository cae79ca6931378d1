package compare

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// execution is a process execution of the given iterations.
func execution(number int, values []float64) dataset.Execution {
	return dataset.Execution{Number: number, Outcome: results.Completed, Columns: []dataset.Column{
		{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore, Reals: values}}}
}

// steadily are n iterations that vary by 0.1 % around a level.
func steadily(r *rand.Rand, n int, level float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = level * (1 + 0.001*r.NormFloat64())
	}
	return values
}

// armOf is an arm of an experiment.
func armOf(s Side, name string) Side {
	s.Arm = name
	return s
}

// side makes an experiment of one benchmark per level: executions of 300 iterations that differ by
// between from each other, and by 1% within. Negative levels have no steady state.
func side(t *testing.T, seed uint64, executions int, between float64, levels map[string]float64) Side {
	t.Helper()
	d := &dataset.Dataset{}
	for _, name := range []string{"a", "b", "c", "d"} {
		level, ok := levels[name]
		if !ok {
			continue
		}
		r := rand.New(rand.NewPCG(seed, uint64(name[0])))
		for i := range executions {
			center := math.Abs(level) * (1 + between*r.NormFloat64())
			values := make([]float64, 300)
			for i := range values {
				values[i] = center * (1 + 0.01*r.NormFloat64())
				if level < 0 && i > 270 {
					values[i] *= 2
				}
			}
			d.Add(key.Key{Benchmark: name, VM: "v", Variant: "x"}, execution(i+1, values))
		}
	}
	return analyzed(t, d)
}

func analyzed(t *testing.T, d *dataset.Dataset) Side {
	t.Helper()
	p := warmup.Default(classify.Relative)
	p.Resamples = 10
	doc := must.Get(warmup.Analyze(d, p, warmup.Options{}))(t)
	return Side{Doc: doc, Data: d}
}

func mustCompare(t *testing.T, before, after Side, o Options) *Result {
	t.Helper()
	r := must.Get(Of(before, after, o))(t)
	return r
}

// TestFirstResult: the start of the processes counts if all executions of both sides have it.
func TestFirstResult(t *testing.T) {
	before := side(t, 1, 4, 0, map[string]float64{"a": 0.5, "b": 0.5})
	after := side(t, 2, 4, 0, map[string]float64{"a": 0.5, "b": 0.5})
	for _, s := range []Side{before, after} {
		for i := range s.Data.Pairs {
			for j := range s.Data.Pairs[i].Executions {
				s.Data.Pairs[i].Executions[j].FirstResult = 2
			}
		}
	}
	for i := range after.Data.Pairs[0].Executions {
		after.Data.Pairs[0].Executions[i].FirstResult = 3
	}
	after.Data.Pairs[1].Executions[3].FirstResult = 0 // unknown
	r := mustCompare(t, before, after, Options{})
	a, b := r.Changes[0], r.Changes[1]
	if ratio := float64(a.First.Ratio.Estimate); a.FirstFrom != FromProcess || math.Abs(ratio-1.5) > 1e-12 {
		t.Errorf("2 s and 3 s: from %s, ratio %v", a.FirstFrom, ratio)
	}
	if ratio := float64(b.First.Ratio.Estimate); b.FirstFrom != FromIteration || math.Abs(ratio-1) > 0.05 {
		t.Errorf("iterations of 0.5 s: from %s, ratio %v", b.FirstFrom, ratio)
	}
}

func TestVerdicts(t *testing.T) {
	before := side(t, 1, 10, 0.002, map[string]float64{"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5})
	after := side(t, 2, 10, 0.002, map[string]float64{"a": 0.5, "b": 0.45, "c": 0.6, "d": -0.5})
	r := mustCompare(t, before, after, Options{})
	for i, want := range []Verdict{Same, Better, Worse, Worse} {
		c := r.Changes[i]
		must.Equal(t, c.Verdict, want, c.Key, c.Steady, "class", c.Class)
	}
	b := r.Changes[1].Steady
	must.Be(t, b.Ratio.Low <= 0.9 && b.Ratio.High >= 0.9 && b.Test == StudentT && b.Freedom == 18,
		"effect of b", b)
	// ten flat executions against ten without steady state: 2 / C(20, 10)
	d := r.Changes[3].Class
	must.Be(t, near(d.P, 2./184756, 1e-9) && d.Verdict == Worse, "class of d", d)
	// the classes of the other keys are all the same, so that they cannot be significant
	if r.Tests != 5 || r.TestsClass != 1 || !near(1-r.Level, partition*0.05*0.75/4, 1e-9) ||
		r.Counts[Worse] != 2 {
		t.Errorf("%d tests at level %v, %v", r.Tests, r.Level, r.Counts)
	}
}

// TestLengths: a trial of few iterations beside the experiment is remarked, in either order.
func TestLengths(t *testing.T) {
	whole := side(t, 1, 3, 0.002, map[string]float64{"a": 0.5})
	trial := &dataset.Dataset{}
	for i := range 3 {
		trial.Add(whole.Data.Pairs[0].Key, execution(i+1, make([]float64, 150)))
	}
	for _, short := range []Side{whole, analyzed(t, trial)} {
		for _, sides := range [][2]Side{{whole, short}, {short, whole}} {
			list := mustCompare(t, sides[0], sides[1], Options{}).Changes[0].Warnings
			is := len(list) > 0 && list[0].Code == "lengths" && strings.Contains(list[0].Text, "150")
			must.Equal(t, is, short.Data == trial, list)
		}
	}
}

// TestBelowTheMargin: a difference of 0.9 % of executions that differ by 0.2 % is significant, and
// too close to the margin for an equivalence test. It is no verdict.
func TestBelowTheMargin(t *testing.T) {
	levels := func(a float64) map[string]float64 { return map[string]float64{"a": a} }
	before, after := side(t, 1, 10, 0.002, levels(0.5)), side(t, 2, 10, 0.002, levels(0.5035))
	c := mustCompare(t, before, after, Options{}).Changes[0]
	if c.Steady.P > 1e-5 || c.Steady.SameCorrected <= 0.05 || c.Verdict != CannotTell ||
		!strings.Contains(c.Reason, "below the margin of 1") || c.Steady.Detectable <= 0.01 {
		t.Errorf("%s, %s; %+v", c.Verdict, c.Reason, c.Steady)
	}
	c = mustCompare(t, before, after, Options{Margin: 0.003}).Changes[0]
	must.Equal(t, c.Verdict, Worse, "with a margin of 0.3 %", c.Reason)
}

// TestMirror: exchanging the sides turns each verdict, and inverts each ratio.
func TestMirror(t *testing.T) {
	for seed := range uint64(6) {
		a := side(t, 2*seed+1, 5, 0.01, map[string]float64{"a": 0.5, "b": 0.505, "c": 0.5, "d": -0.5})
		b := side(t, 2*seed+2, 4, 0.01, map[string]float64{"a": 0.5, "b": 0.5, "c": 0.6, "d": 0.5})
		there, back := mustCompare(t, a, b, Options{}), mustCompare(t, b, a, Options{})
		for i, c := range there.Changes {
			m := back.Changes[i]
			if c.Verdict != mirror(m.Verdict) || !near(c.Class.P, m.Class.P, 1e-9) || !near(c.Steady.P,
				m.Steady.P, 1e-9) ||
				!near(c.Steady.SameP, m.Steady.SameP, 1e-9) {
				t.Errorf("seed %d: %s is %s, its mirror %s", seed, c.Key, c.Verdict, m.Verdict)
			}
			if p, q := c.Steady.Ratio, m.Steady.Ratio; !near(float64(p.Low*q.High), 1, 1e-9) ||
				!near(float64(p.Estimate*q.Estimate), 1, 1e-9) {
				t.Errorf("seed %d: %s: %+v and %+v", seed, c.Key, p, q)
			}
		}
	}
}

// TestEveryKeyHasAnEffect: whatever the values are, two completed executions on each side have an
// effect, finite or null, and a verdict.
func TestEveryKeyHasAnEffect(t *testing.T) {
	repeated := func(list ...float64) [][]float64 {
		var executions [][]float64
		for _, v := range list {
			executions = append(executions, []float64{v, v, v, v, v})
		}
		return executions
	}
	for _, c := range []struct {
		name          string
		before, after [][]float64
		want          Verdict
		ratio         bool
	}{
		{"one iteration each", [][]float64{{1}, {1.1}}, [][]float64{{1}, {1.1}}, CannotTell, true},
		{"constant, equal", repeated(5, 5, 5), repeated(5, 5, 5), Same, true},
		{"constant, 20 % more", repeated(100, 100, 100), repeated(120, 120, 120), Worse, true},
		{"one tick of 10, twice", repeated(10, 10), repeated(11, 11), CannotTell, true},
		{"one tick of 10, ten times", repeated(10, 10, 10, 10, 10, 10, 10, 10, 10, 10),
			repeated(11, 11, 11, 11, 11, 11, 11, 11, 11, 11), Worse, true},
		{"zeros", repeated(0, 0, 0), repeated(0, 0, 0), CannotTell, false},
		{"zero and not", repeated(0, 1, 2, 1), repeated(101, 102, 103, 102), Worse, false},
		{"huge ratio", repeated(1e-150, 2e-150, 1e-150), repeated(1e150, 2e150, 1e150), Worse, true},
		{"tiny", repeated(4e-300, 4e-300), repeated(8e-300, 4e-300), CannotTell, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			make := func(list [][]float64) Side {
				d := &dataset.Dataset{}
				for i, v := range list {
					d.Add(key.Key{Benchmark: "b", VM: "v", Variant: "x"}, execution(i+1, v))
				}
				return analyzed(t, d)
			}
			r := mustCompare(t, make(c.before), make(c.after), Options{Splits: 3})
			got := r.Changes[0]
			must.Need(t, got.Verdict == c.want && got.Steady != nil && (got.Steady.Ratio != nil) == c.ratio,
				got.Verdict, got.Steady, "class", got.Class)
			must.Be(t, got.Verdict != CannotTell || got.Reason != "", "no reason")
			p := got.Steady.P
			must.Be(t, p >= 0 && p <= 1, "p is", p)
		})
	}
}

func TestCannotTell(t *testing.T) {
	one := map[string]float64{"a": 0.5, "b": 0.5}
	r := mustCompare(t, side(t, 1, 1, 0.01, one), side(t, 2, 5, 0.01, map[string]float64{"a": 0.7, "c": 0.5}),
		Options{})
	if len(r.Changes) != 3 || r.Counts[CannotTell] != 3 || r.Changes[1].OnlyIn != "before" ||
		r.Changes[2].OnlyIn != "after" || r.TestsSteady != 0 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"completed executions: 1 before, 5 after", "only before has this key",
		"only after has this key"} {
		c := r.Changes[0]
		must.Be(t, strings.HasPrefix(c.Reason, want), c.Key, c.Reason)
		r.Changes = r.Changes[1:]
	}
	same := side(t, 3, 8, 0.002, one)
	if r = mustCompare(t, same, same, Options{}); r.Counts[Same] != 2 ||
		r.Changes[0].Steady.Ratio.Estimate != 1 {
		t.Errorf("with itself: %+v", r.Changes)
	}
	wild := mustCompare(t, side(t, 4, 2, 0.5, one), side(t, 6, 2, 0.5, one), Options{}).Changes[0]
	must.Equal(t, wild.Reason,
		"2 executions vary so much that only a factor of ten could be seen; measure at least 10")
	empty := analyzed(t, &dataset.Dataset{})
	if r = mustCompare(t, empty, empty, Options{Splits: 2}); len(r.Changes) != 0 {
		t.Errorf("nothing with nothing: %+v", r)
	}
}

// TestHelp: what is advised with 4 against 4 executions, and that the number has the power, and one
// less has not, with a standard deviation of which 95 % are smaller: chi-squared with 6 degrees of
// freedom is below 1.635 in 5 %.
func TestHelp(t *testing.T) {
	const level = 0.05
	o := Options{}.withDefaults()
	margin := math.Log1p(o.Margin)
	for _, c := range []struct {
		sd, change float64
		want       string
	}{
		{0.01, 0.03, "a new experiment with N executions per side would show a change of 3 %"},
		{0.01, 0.015, "a new experiment with N executions per side would show a change of 1.5 %"},
		{0.005, 0.001, "a new experiment with N executions per side would show that it is below 1 %"},
		{0.01, 0.01,
			"the change of 1 % is too close to the margin of 1 % to be told; 40 executions per side"},
		{0.01, 0.00999, "the change of 0.999 % is too close to the margin of 1 % to be told; 40 executions"},
		{0.01, 0.013,
			"a change of 1.3 % cannot be told with a reasonable number; 40 executions per side, 10"},
		{0.005, 0.005,
			"that it is below 1 % cannot be told with a reasonable number; 40 executions per side, 10"},
		{0.02, 0.02,
			"a change of 2 % cannot be told with a reasonable number; 40 executions per side, 10 times"},
		{0.02, 0, "that it is below 1 % cannot be told with a reasonable number; 40 executions per side, 10"},
	} {
		e := estimate{
			ok:       true,
			n:        4,
			m:        4,
			after:    math.Log1p(c.change),
			test:     StudentT,
			variance: c.sd * c.sd,
			freedom:  6,
			factor:   0.5,
		}
		text, h := e.advice(level, o)
		bound := c.sd * math.Sqrt(6/1.6353829)
		if h == nil {
			must.Be(t, strings.HasPrefix(text, c.want), text, c.want)
			must.Be(t, powerOf(e.after, bound, level, 40, margin) < Power, "40 executions are enough:", text)
			continue
		}
		must.Equal(t, text, strings.Replace(c.want, "N", strconv.Itoa(h.Executions), 1), "advice")
		must.Equal(t, h.Same, c.change < o.Margin, "same")
		enough := func(n int) bool { return powerOf(e.after, bound, level, n, margin) > Power-0.02 }
		must.Be(t, enough(h.Executions), h.Executions, "executions do not show", c.change)
		must.Be(t, h.Executions <= 4 || powerOf(e.after, bound, level, h.Executions-1, margin) < Power,
			h.Executions-1, "executions show", c.change)
	}
}

func TestRefuses(t *testing.T) {
	a := side(t, 1, 2, 0.01, map[string]float64{"a": 0.5})
	other := *a.Doc
	other.Parameters.Delta.Value = 0.5
	for _, b := range []Side{{Doc: &other, Data: a.Data}, {Doc: a.Doc, Data: &dataset.Dataset{}}} {
		_, err := Of(a, b, Options{})
		must.Fail(t, err, ErrDifferent)
	}
}

// mirror returns the verdict with before and after exchanged.
func mirror(v Verdict) Verdict {
	switch v {
	case Better:
		return Worse
	case Worse:
		return Better
	}
	return v
}
