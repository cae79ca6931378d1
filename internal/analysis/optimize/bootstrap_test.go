package optimize

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
	"krund/rig/must"
)

func spread(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Round(100 + 10*r.NormFloat64())
	}
	return slices.Sorted(slices.Values(x))
}

// TestMedianAtoms compares the distribution of the median with resamples
// counted one by one, and with the enumeration.
func TestMedianAtoms(t *testing.T) {
	for n := 2; n <= 40; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i * i)
		}
		total := 0.0
		byValue := map[float64]float64{}
		for _, a := range medianAtoms(x) {
			total += a.weight
			byValue[a.value] += a.weight
			must.Be(t, a.weight >= 0, "n =", n, a)
		}
		must.Be(t, math.Abs(total-1) <= 1e-9, "n =", n, "the probabilities add up to", total)
		if n > 7 {
			continue
		}
		r := newResampler(x, 0)
		want := map[float64]float64{}
		for _, a := range r.enumerate(func() (float64, bool) { return r.median(), true }) {
			want[a.value] += a.weight
		}
		for v, w := range want {
			must.Be(t, math.Abs(w-byValue[v]) <= 1e-12, "n =", n, "median", v, "has", byValue[v], "want", w)
		}
	}
}

// TestExactIsTheLimit compares exact intervals with those of many resamples.
func TestExactIsTheLimit(t *testing.T) {
	const resamples = 40_000
	for _, n := range []int{7, 9, 24, 75} {
		x := spread(n, 3)
		r := newResampler(x, mean(x))
		means, medians := r.run(needs{mean: true, median: true}, resamples, rand.NewPCG(1, 2))
		slices.Sort(means)
		slices.Sort(medians)
		check := func(what string, exact Interval, drawn []float64) {
			t.Helper()
			for _, pc := range []struct{ low, high, got float64 }{{0.4, 0.6, float64(exact.Low)},
				{99.4, 99.6, float64(exact.High)}} {
				if low, high := arith.Percentile(drawn, pc.low), arith.Percentile(drawn,
					pc.high); pc.got < low-1e-9 || pc.got > high+1e-9 {
					t.Errorf("n = %d: %s ends at %v, resamples at %v to %v", n, what, pc.got, low, high)
				}
			}
		}
		check("median", medianAtoms(x).interval(0.99), medians)
		if n <= longestEnumerated {
			check("mean", r.enumerate(r.center).interval(0.99), means)
		}
	}
}

// TestConstantResamples: published, they blow RCIW2 up; here they are not
// counted, and fewer than five values have no interval.
func TestConstantResamples(t *testing.T) {
	x := []float64{100, 101, 102}
	at := func(x []float64, published bool) float64 {
		o := Options{Resamples: 1000, Level: DefaultLevel, Published: published}
		e := estimate(x, needs{t: true}, o, streams{rand.NewPCG(1, 1), rand.NewPCG(2, 2)})
		return float64(e.RCIW2)
	}
	must.Be(t, at(x, true) > 1000, "published", at(x, true))
	must.Be(t, math.IsNaN(at(x, false)), "three values", at(x, false))
	five := at(append(x, 103, 104), false)
	must.Be(t, five > 0.01 && five < 1, "five values", five)
	nearly := at(append(slices.Repeat([]float64{100}, 20), 101), false)
	must.Be(t, nearly > 0 && nearly < 1, "nearly constant values", nearly)
}

// TestDrawer draws every index equally often.
func TestDrawer(t *testing.T) {
	for _, n := range []int{1, 2, 3, 75, 1000, 70000} {
		d := newDrawer(n, rand.NewPCG(1, uint64(n)))
		counts := make([]int, n)
		ranks := make([]int32, 10_001)
		for range 20 {
			d.fill(ranks)
			for _, k := range ranks {
				counts[k]++
			}
		}
		expected := float64(20*len(ranks)) / float64(n)
		chi := 0.0
		for _, c := range counts {
			chi += (float64(c) - expected) * (float64(c) - expected) / expected
		}
		limit := float64(n-1) + 5*math.Sqrt(2*float64(n))
		must.Be(t, chi <= limit, "n =", n, "chi-squared", chi, "is above", limit)
	}
}

// TestArithmetic compares with definitions.
func TestArithmetic(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 9, 127, 128, 129, 1000} {
		x := spread(n, uint64(n))
		want := 0.0
		for _, v := range x {
			want += v
		}
		if got := sum(x); got != want { // whole numbers
			t.Errorf("sum of %d: %v, want %v", n, got, want)
		}
		y := slices.Clone(x)
		rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, j int) { y[i], y[j] = y[j], y[i] })
		for _, pc := range []float64{0, 0.5, 50, 99.5, 100} {
			if got, want := percentile(slices.Clone(y), pc), arith.Percentile(x,
				pc); math.Abs(got-want) > 1e-12*want {
				t.Errorf("percentile %v of %d: %v, want %v", pc, n, got, want)
			}
		}
	}
	must.Be(t, math.IsNaN(mean(nil)), "the mean of nothing is a number")
}

// TestHopeless never rejects what a bootstrap finds stable.
func TestHopeless(t *testing.T) {
	rejected := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		x := make([]float64, 200+r.IntN(400))
		for i := range x {
			x[i] = 100 * math.Exp(0.05*r.ExpFloat64())
		}
		if seed%3 == 0 {
			x[0] *= 1 + 100*r.Float64() // one value has all variance
		}
		for _, m := range []Metric{RCIW1, RCIW2, RCIW3} {
			s := search{Options: Options{Metric: m, Level: DefaultLevel, Resamples: 400}}
			e := estimate(x, m.needs(false), s.Options, streams{rand.NewPCG(seed, 1), rand.NewPCG(seed, 2)})
			s.Threshold = float64(e.Metric(m)) * 1.01 // the bootstrap finds it stable
			must.Be(t, !s.hopeless(x), "seed", seed, m, e.Metric(m), "is rejected")
			s.Threshold = float64(e.Metric(m)) / 4
			rejected += arith.One(s.hopeless(x))
		}
	}
	must.Be(t, rejected >= 100, "only", rejected, "of 180 were rejected at a quarter of their width")
}

func BenchmarkOptimize(b *testing.B) {
	s := suiteOf(Position{3, 5, 5}, noise(1, 0.03))
	for _, m := range Metrics() {
		b.Run(string(m), func(b *testing.B) {
			for b.Loop() {
				must.Get(Optimize(s, Options{Metric: m}, nil))(b)
			}
		})
	}
}
