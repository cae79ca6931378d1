package stability

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// noisy makes n durations about a level, the first slow ones twice as long.
func noisy(seed uint64, n, slow int, level, sd float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = level * math.Abs(1+sd*r.NormFloat64())
		if i < slow {
			x[i] *= 2
		}
	}
	return x
}

// quick is Default with a bootstrap that takes little time.
func quick() Parameters {
	p := Default()
	p.Resamples, p.QualityResamples = 200, 500
	return p
}

func TestOf(t *testing.T) {
	var series [][]float64
	for e := range 7 {
		series = append(series, noisy(uint64(e), 12000, 200, 0.01, 0.005)) // 2 s of warm-up, 122 s in all
	}
	r := must.Get(Of(series, Criteria, quick()))(t)
	must.Be(t, r.Step == "1s" && slices.Equal(r.Executions, []int{1, 2, 3, 4, 5}) &&
		within(float64(r.FullMean), 0.01, 1e-5) && within(float64(r.FullSeconds), 500, 0.01), r)
	for _, o := range r.Criteria {
		must.Be(t, o.Reached && o.Used == 2 && o.Saved >= 0.7 && o.Quality.Same && o.Quality.Change <= 0.001,
			o.Criterion, o.Used, "executions", o.Reached, o.Saved, "saved", o.Quality)
		for e, w := range o.Warmups {
			steps := Cut(series[e], Length{Seconds: 1}, 0)
			must.Be(t, len(w.Values) == w.Steps && w.First == steps.Ends[w.Steps-1] &&
				w.Last == steps.Ends[w.Steps+9]-1, o.Criterion, "execution", e, w)
		}
	}
}

func TestSeed(t *testing.T) {
	series := [][]float64{noisy(1, 300, 40, 0.001, 0.2), noisy(2, 250, 30, 0.001, 0.2),
		noisy(3, 400, 30, 0.001, 0.2)}
	p := quick()
	first, err := Of(series, Criteria, p)
	again, err2 := Of(series, Criteria, p)
	alone, err3 := Of(series, []Criterion{KLD}, p)
	p.Seed++
	other, err4 := Of(series, Criteria, p)
	must.Do(t, errors.Join(err, err2, err3, err4))
	must.Be(t, text(t, first) == text(t, again) && text(t, first.Criteria[2]) == text(t, alone.Criteria[0]),
		"the same seed gives another result")
	must.Be(t, text(t, first) != text(t, other), "another seed gives the same result")
	must.Equal(t, first.Step, "2", "step", "of short series")
}

// text is a result as JSON, in which NaN is equal to NaN.
func text(t *testing.T, result any) string {
	t.Helper()
	return string(must.Get(json.Marshal(result))(t))
}

func TestDegenerate(t *testing.T) {
	constant := slices.Repeat([]float64{0.1}, 1200)
	r := must.Get(Of([][]float64{constant, constant, constant}, Criteria, quick()))(t)
	for _, o := range r.Criteria {
		want := 5
		if o.Criterion == KLD {
			want = 6
		}
		must.Be(t, o.Warmups[0].Steps == want && o.Used == 2 && o.Quality.Same && o.Quality.Change <= 1e-12,
			"constant", o.Criterion, o)
	}
	zero := make([]float64, 100)
	r = must.Get(Of([][]float64{zero, zero}, Criteria, quick()))(t)
	for _, o := range r.Criteria {
		none := math.IsNaN(float64(o.Quality.Ratio))
		must.Be(t, o.Reached == (o.Criterion == KLD) && o.Quality.Same && none, "zeros", o.Criterion, o)
	}
	one := must.Get(Of([][]float64{noisy(1, 100, 0, 1, 0.1)}, Criteria, quick()))(t)
	for _, o := range one.Criteria {
		must.Be(t, !o.Reached && o.Used == 1 && len(o.Values) == 1, "one execution", o.Criterion, o)
	}
	mixed, err := Of([][]float64{constant[:30], constant, {}, constant[:700]}, []Criterion{CV}, quick())
	must.Need(t, err == nil && slices.Equal(mixed.Executions, []int{2, 4}), "some are short", mixed, err)
	must.EqualList(t, mixed.Short, []Short{{1, 2, 60}, {3, 0, 60}})
}

func TestRefused(t *testing.T) {
	good := slices.Repeat([]float64{1}, 100)
	for _, c := range []struct {
		name   string
		series [][]float64
		change func(*Parameters)
		want   error
	}{
		{"no execution", nil, nil, ErrShort},
		{"empty", [][]float64{{}}, nil, ErrShort},
		{"short", [][]float64{good[:59]}, nil, ErrShort},
		{"short in seconds", [][]float64{good}, func(p *Parameters) { p.Step = Length{Seconds: 10} },
			ErrShort},
		{"NaN", [][]float64{good, {1, math.NaN()}}, nil, ErrData},
		{"infinite", [][]float64{{math.Inf(1)}}, nil, ErrData},
		{"negative", [][]float64{{-1}}, nil, ErrData},
		{"huge", [][]float64{{1e101}}, nil, ErrData},
		{"window", nil, func(p *Parameters) { p.Window = 1 }, ErrParameters},
		{"warm-up", nil, func(p *Parameters) { p.WarmupMax = 4 }, ErrParameters},
		{"executions", nil, func(p *Parameters) { p.ExecutionsMax = 1 }, ErrParameters},
		{"profile", nil, func(p *Parameters) { p.Profile = "x" }, ErrParameters},
		{"threshold", nil, func(p *Parameters) { p.Threshold = math.NaN() }, ErrParameters},
		{"confidence", nil, func(p *Parameters) { p.Confidence = 1 }, ErrParameters},
		{"batch", nil, func(p *Parameters) { p.Batch = -1 }, ErrParameters},
		{"step", nil, func(p *Parameters) { p.Step.Seconds = math.NaN() }, ErrParameters},
		{"overhead", nil, func(p *Parameters) { p.Overhead = math.NaN() }, ErrParameters},
		{"index", nil, func(p *Parameters) { p.Index = 2 }, ErrParameters},
		{"draws", nil, func(p *Parameters) { p.Draws = 1 }, ErrParameters},
	} {
		p := quick()
		if c.change != nil {
			c.change(&p)
		}
		_, err := Of(c.series, Criteria, p)
		must.Fail(t, err, c.want, c.name)
	}
}

// TestRules has the windows in which the profiles disagree, and thresholds met exactly.
func TestRules(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		criterion Criterion
		values    []float64
		want      map[Profile]int
	}{
		{CV, []float64{0.1, 0.2, 0.3, 0.4, 0.5}, map[Profile]int{Recommended: 0, Study: 5, JMH: 0, Paper: 0}},
		{CV, []float64{0.5, 0.25, 0.25, 0.25, 0.25, 0.25}, map[Profile]int{Recommended: 6, Study: 6, JMH: 6,
			Paper: 6}},
		{CV, []float64{0, 0, 0.01, 0.01, 0.005}, map[Profile]int{Recommended: 5, Study: 5, JMH: 5, Paper: 5}},
		{CV, []float64{0.01, 0.01, 0, 0, 0}, map[Profile]int{Recommended: 0, Study: 0, JMH: 0, Paper: 5}},
		{CV, []float64{0, 0, nan, 0, 0}, map[Profile]int{Recommended: 0, Study: 0, JMH: 0, Paper: 0}},
		{RCIW, []float64{0.5, 0.5, 0.5, 0.5, 0.5}, map[Profile]int{Recommended: 0, Study: 0, JMH: 5,
			Paper: 5}},
		{RCIW, []float64{0.02, 0.02, 0.02, 0.02, 0.03, 0.01, 0, 0, 0, 0},
			map[Profile]int{Recommended: 10, Study: 10, JMH: 5, Paper: 5}},
		{KLD, []float64{nan, 1, 1, 1, 1, 1}, map[Profile]int{Recommended: 6, Study: 6, JMH: 6, Paper: 6}},
		{KLD, []float64{nan, 0.99, 0.99, 0.99, 0.99, 0.99}, map[Profile]int{Recommended: 0, Study: 0, JMH: 0,
			Paper: 0}},
	} {
		for profile, want := range c.want {
			must.Equal(t, (Rule{Criterion: c.criterion, Profile: profile}).Warmup(c.values, 5), want,
				c.criterion, c.values)
		}
	}
	for _, c := range []struct {
		criterion Criterion
		values    []float64
		want      map[Profile]int
	}{
		{CV, []float64{0.1, 0.2, 0.201, 0.2}, map[Profile]int{Recommended: 3, Study: 3, JMH: 3, Paper: 0}},
		{CV, []float64{0, 0.01}, map[Profile]int{Recommended: 0, Paper: 2}},
		{RCIW, []float64{0.2, 0.21, 0.02}, map[Profile]int{Recommended: 3, Study: 3, JMH: 2, Paper: 2}},
		{KLD, []float64{nan, 0.9, 0.995, 1}, map[Profile]int{Recommended: 3, Study: 3, JMH: 3, Paper: 0}},
		{KLD, []float64{nan, nan, 1}, map[Profile]int{Recommended: 3, Paper: 0}},
	} {
		for profile, want := range c.want {
			must.Equal(t, (Rule{Criterion: c.criterion, Profile: profile}).Executions(c.values, 2), want,
				c.criterion, "of executions", c.values)
		}
	}
}

func TestCut(t *testing.T) {
	s := Cut([]float64{0.4, 0.4, 0.4, 1.5, 0, 0.9, 0.05}, Length{Seconds: 1}, 0)
	must.Be(t, slices.Equal(s.Ends, []int{3, 4}) && math.Abs(s.Took(0, 2)-2.7) <= 1e-12, s)
	// 0.04 s make three calls in 100 ms, which are 0.12 s.
	s = Cut([]float64{0.04, 0.04, 0.3, 0}, Length{Seconds: 0.5}, 0.1)
	h := s.Histogram(0, 1)
	must.Be(t, slices.Equal(s.Ends, []int{3}) && slices.Equal(h.Counts, []float64{3, 3, 1}) && h.Total() == 7,
		s)
	if s = Cut([]float64{1, 2, 3, 4, 5}, Length{Iterations: 2}, 0); !slices.Equal(s.Ends, []int{2, 4}) {
		t.Errorf("%+v", s)
	}
	for _, text := range []string{"auto", "1s", "0.25s", "7"} {
		l, err := ParseLength(text)
		must.Be(t, err == nil && l.String() == text, text, "is read as", l, err)
	}
	l, err := ParseLength("500ms")
	must.Be(t, err == nil && l.Seconds == (500*time.Millisecond).Seconds(), "500ms is read as", l, err)
	for _, text := range []string{"", "0", "-1", "-1s", "0s", "x", "1.5"} {
		l, err := ParseLength(text)
		must.Be(t, err != nil, text, "is read as", l)
	}
}

// sampleOf makes a sample of values, which it does not change.
func sampleOf(x []float64, v Variance) sample { return sorting(slices.Clone(x), v) }

func similarityOf(a, b []float64, v Variance) float64 {
	var k kernels
	return k.similarity(sampleOf(a, v), sampleOf(b, v))
}

// TestSimilarityLaws: symmetric, 1 for a sample with itself, between 0 and 1, the same in another
// unit.
func TestSimilarityLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		a, b := noisy(r.Uint64(), 50+r.IntN(200), 0, 1, 0.1), noisy(r.Uint64(), 50+r.IntN(200), 20, 1.1, 0.1)
		kept := slices.Clone(a)
		v := similarityOf(a, b, TwoPass)
		w := similarityOf(b, a, TwoPass)
		must.Be(t, math.Abs(v-w) <= 1e-12 && v >= 0 && v <= 1, v, "one way", w, "the other")
		must.Equal(t, similarityOf(a, a, TwoPass), 1, "with itself")
		for _, x := range [][]float64{a, b} {
			for i := range x {
				x[i] *= 0x1p-30
			}
		}
		w = similarityOf(a, b, TwoPass)
		must.Be(t, math.Abs(v-w) <= 1e-9, v, "in one unit", w, "in another")
		for i := range a {
			must.Need(t, a[i] == kept[i]*0x1p-30, "the sample was changed")
		}
	}
}

// TestEmpty: nothing in it is no reason to panic.
func TestEmpty(t *testing.T) {
	h := NewHistogram(nil, nil)
	if kept, _ := h.Inliers(); len(kept.Values) != 0 || !math.IsNaN(h.Median()) || h.Total() != 0 {
		t.Errorf("an empty histogram has inliers %v, median %v", kept.Values, h.Median())
	}
	m, low, high := Ratio(nil, nil, 0.99, bootstrap.Uniform)
	must.Be(t, math.IsNaN(m+low+high), "ratio of nothing", m, low, "to", high)
	s := Cut(nil, Length{}, 0)
	must.Be(t, s.Len() == 0 && s.Start(0) == 0, s)
}

// FuzzSimilarity checks that any two samples are between 0 and 1 alike, the same both ways.
func FuzzSimilarity(f *testing.F) {
	f.Add([]byte("some values, and some others"), uint8(5), true)
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\xf0\x7f\x01\x00\x00\x00\x00\x00\x00\x00"),
		uint8(1), false)
	f.Fuzz(func(t *testing.T, data []byte, cut uint8, small bool) {
		var values []float64
		for ; !small && len(data) >= 8; data = data[8:] {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		for _, c := range data {
			values = append(values, float64(c)/64)
		}
		at := min(int(cut), len(values))
		if at == 0 || at == len(values) {
			return // a window is never empty
		}
		for _, v := range []Variance{TwoPass, OnePass} {
			s, back := similarityOf(values[:at], values[at:], v), similarityOf(values[at:], values[:at], v)
			must.Be(t, s >= 0 && s <= 1 && math.Abs(s-back) <= 1e-9, values[:at], "and", values[at:], "are",
				s, "alike, the other way", back)
		}
	})
}

// FuzzOf checks that no durations make it panic, and that results are possible.
func FuzzOf(f *testing.F) {
	f.Add([]byte("some iterations of some length, and then others, which are longer"), uint8(0), uint8(0),
		uint8(3))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x00"), uint8(9), uint8(1),
		uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, choice, step, count uint8) {
		var values []float64
		for ; choice&1 == 1 && len(data) >= 8; data = data[8:] {
			values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(data)))
		}
		for _, c := range data {
			values = append(values, float64(c)/64)
		}
		p := Default()
		p.WarmupMin, p.WarmupMax, p.Measure, p.Draws, p.Resamples, p.QualityResamples, p.QualityDraws = 2, 8,
			2, 20, 20, 20, 30
		p.Profile = []Profile{Recommended, Study, JMH, Paper}[choice>>1&3]
		p.Exact, p.Index = choice&8 > 0, bootstrap.Index(choice>>4&1)
		p.Step = Length{Iterations: int(step & 3)}
		if step&4 > 0 {
			p.Step, p.Batch = Length{Seconds: float64(step) / 8}, float64(step>>4)/16
		}
		var series [][]float64
		for n := int(count%4) + 1; n > 0; n-- {
			at := len(values) / n
			series = append(series, values[:at])
			values = values[at:]
		}
		r, err := Of(series, Criteria, p)
		if err != nil {
			must.Need(t, errors.Is(err, ErrData) || errors.Is(err, ErrShort) || errors.Is(err, ErrParameters),
				err)
			return
		}
		for _, o := range r.Criteria {
			must.Need(t, o.Used >= 1 && o.Used <= len(r.Executions) && !math.IsNaN(o.Seconds), o)
			for e, w := range o.Warmups {
				if w.Steps < 2 || w.Steps > 8 || w.First < w.Steps || w.Last < w.First ||
					w.Last >= len(series[r.Executions[e]-1]) {
					t.Fatalf("%s: %+v", o.Criterion, w)
				}
			}
			q := o.Quality
			must.Need(t, math.IsNaN(float64(q.Low)) || q.Low <= q.High, o.Criterion, q)
		}
	})
}

// BenchmarkOf is a key of the paper: 5 executions of 100 s with calls of 1 ms.
func BenchmarkOf(b *testing.B) {
	var series [][]float64
	for e := range 5 {
		series = append(series, noisy(uint64(e), 110000, 9000, 0.001, 0.3))
	}
	for _, c := range Criteria {
		b.Run(string(c), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must.Get(Of(series, []Criterion{c}, Default()))(b)
			}
		})
	}
}

// TestOnline: decisions made value by value are those made with the whole series, whatever comes
// after them. Of gets series long enough for the longest warm-up.
func TestOnline(t *testing.T) {
	p := quick()
	p.Step, p.WarmupMax, p.Measure, p.ExecutionsMax, p.Seed = Length{Iterations: 20}, 25, 4, 9, 3
	p.Numbers = []int{2, 5, 7}
	series := [][]float64{noisy(1, 700, 60, 0.001, 0.01), noisy(2, 650, 200, 0.001, 0.2),
		noisy(3, 900, 0, 0.001, 0.5)}
	r := must.Get(Of(series, Criteria, p))(t)
	stable := 0
	for _, o := range r.Criteria {
		for e, w := range o.Warmups {
			online := must.Get(NewOnline(p, o.Criterion, p.Numbers[e]))(t)
			var d Decision
			for i, v := range series[e] {
				d = must.Get(online.Add(v))(t)
				if known := d.Warmup > 0; known != (i+1 >= w.First) || d.StopAt > 0 != (i >= w.Last) {
					t.Fatalf("%s, execution %d: %+v after %d iterations, want %+v", o.Criterion, e, d, i+1, w)
				}
			}
			if d.Warmup != w.First || d.StopAt != w.Last+1 || d.Stable != w.Reached ||
				d.Value != w.Values[len(w.Values)-1] {
				t.Errorf("%s, execution %d: %+v, want %+v", o.Criterion, e, d, w)
			}
			if d.Stable {
				stable++
			}
		}
	}
	must.Be(t, stable != 0 && stable != len(Criteria)*len(series), stable,
		"decisions are stable: the series are no test")
}

// TestOnlineRefuses: what cannot be decided while an execution runs, and durations that no clock
// can have measured.
func TestOnlineRefuses(t *testing.T) {
	p := quick()
	_, err := NewOnline(p, CV, 1)
	must.Fail(t, err, ErrParameters, "step auto")
	p.Step = Length{Iterations: 2}
	_, err = NewOnline(p, CV, 0)
	must.Fail(t, err, ErrParameters, "number 0")
	o := must.Get(NewOnline(p, CV, 1))(t)
	for _, v := range []float64{-1e-9, math.NaN(), math.Inf(1)} {
		_, err := o.Add(v)
		must.Fail(t, err, ErrData, v)
	}
}

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
	must.Be(t, got.Step == "1" && got.FullSeconds == 3*30, "step", got.Step, "full",
		got.FullSeconds, "s")
	for i := range want.Criteria {
		w, g := want.Criteria[i], got.Criteria[i]
		for e := range w.Warmups {
			x, y := w.Warmups[e], g.Warmups[e]
			if x.Steps != y.Steps || y.First != y.Steps || y.Last != y.Steps+4 ||
				x.First != y.First*perIteration || len(x.Values) != len(y.Values) {
				t.Errorf("execution %d: %+v, want %+v", e+1, y, x)
				continue
			}
			for k, v := range x.Values {
				must.Be(t, within(y.Values[k], v, 1e-12), "execution", e+1, "step", k+1, "cv",
					y.Values[k], "want", v)
			}
		}
		if w.Used != g.Used || w.Quality.Same != g.Quality.Same ||
			!within(float64(g.Quality.Mean), float64(w.Quality.Mean), 1e-12) {
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
	p.Step, p.QualityResamples, p.Overhead = Length{Iterations: 1}, 10, 0.1
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
	must.Contain(t, text(t, doc), `"step":"1","batch_s":0,`, "parameters")
	must.Be(t, strings.HasPrefix(doc.Keys[1].Problem, "its executions were ended by [stop.iterations]"),
		doc.Keys[1].Problem)
}
