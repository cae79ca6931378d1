package bootstrap

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

// outliers is a series with a few values far from the others.
func outliers(r *rand.Rand, n int, far ...float64) []float64 {
	return append(normal(r, n-len(far), 1, 0.01), far...)
}

func transformed(r *rand.Rand, n int, f func(x float64) float64) []float64 {
	x := normal(r, n, 0, 1)
	for i, v := range x {
		x[i] = f(v)
	}
	return x
}

// TestDistributionIsThatOfDraws compares draws of values with draws from F: the quantiles of both,
// in units of their standard errors, and the largest distance between both empirical distributions.
func TestDistributionIsThatOfDraws(t *testing.T) {
	const draws = 60000
	r := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		name     string
		segments [][]float64
		drawn    bool // F is found by drawing
	}{
		{"normal", [][]float64{normal(r, 500, 1, 0.01)}, false},
		{"two segments", [][]float64{normal(r, 300, 1, 0.01), normal(r, 450, 1.5, 0.3)}, false},
		{"many short segments", slices.Collect(slices.Chunk(normal(r, 500, 1, 0.1), 5)), false},
		{"skewed", [][]float64{transformed(r, 500, func(x float64) float64 { return math.Exp(2 * x) })},
			false},
		{"one far value", [][]float64{outliers(r, 500, 1.8)}, false},
		{"one very far value", [][]float64{outliers(r, 500, 100)}, true},
		{"three far values", [][]float64{outliers(r, 500, 1.5, 1.7, 2)}, false},
		{"Cauchy", [][]float64{transformed(r, 500,
			func(x float64) float64 { return x / r.NormFloat64() })}, true},
		{"heavy tails", [][]float64{transformed(r, 500, func(x float64) float64 {
			return x / (r.Float64() + 0.05)
		})}, false},
		{"two levels", [][]float64{append(normal(r, 300, 1, 0.05), normal(r, 300, 2, 0.05)...)}, false},
		{"two narrow levels", [][]float64{append(normal(r, 300, 1, 1e-3), normal(r, 300, 2, 1e-3)...)}, true},
		{"negative, large", [][]float64{normal(r, 450, -1e12, 1e3)}, false},
		{"coarse clock", [][]float64{transformed(r, 500, math.Round)}, true},
		{"constant", [][]float64{slices.Repeat([]float64{0.1}, 500)}, true},
		{"few values", [][]float64{normal(r, 20, 1, 0.01)}, true},
	} {
		resampler := newResampler(c.segments)
		drawn := resampler.means == nil
		must.Equal(t, drawn, c.drawn, c.name, "values are drawn")
		if resampler.means == nil {
			continue
		}
		got, want := make([]float64, draws), make([]float64, draws)
		resampler.fill(got, 0, draws, 1, 0)
		resampler.means = nil
		resampler.fill(want, 0, draws, 2, 0)
		slices.Sort(got)
		slices.Sort(want)
		for _, p := range []float64{0.001, 0.005, 0.025, 0.25, 0.5, 0.75, 0.975, 0.995, 0.999} {
			at, width := int(p*draws), int(4.5*math.Sqrt(2*p*(1-p)*draws))
			if got[at] < want[max(at-width, 0)] || got[at] > want[min(at+width, draws-1)] {
				t.Errorf("%s: quantile %v is %v, of draws %v to %v", c.name, p, got[at],
					want[max(at-width, 0)], want[min(at+width, draws-1)])
			}
		}
		d := distance(got, want)
		must.Be(t, d <= 1.95*math.Sqrt(2.0/draws), c.name, "distributions are up to", d, "apart")
	}
}

// distance is the statistic of Kolmogorov and Smirnov of two sorted samples of one length.
func distance(a, b []float64) float64 {
	most, j := 0, 0
	for i, v := range a {
		for j < len(b) && b[j] <= v {
			j++
		}
		most = max(most, i+1-j, j-i-1)
	}
	return float64(most) / float64(len(a))
}
