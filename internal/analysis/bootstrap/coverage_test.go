//go:build slow

package bootstrap

import (
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// TestCoverage simulates the study's check (section 7): how often the 99% interval holds the true
// mean. Values are independent, or depend on the one before: the study does not say how. Where its
// number is the coefficient of a moving average, the coverage is that of the study. The figures are
// in docs/statistics.md.
func TestCoverage(t *testing.T) {
	const simulations = 1000
	for _, c := range []struct {
		name               string
		executions, length int
		scheme             Scheme
		correlation        float64
		average            bool // a moving average, not an autoregression
		low, high          float64
	}{
		{"one execution", 1, 1000, Pooled, 0, false, 0.98, 1},
		{"one execution, short", 1, 200, Pooled, 0, false, 0.98, 1},
		{"30 executions, pooled", 30, 500, Pooled, 0, false, 0.98, 1},
		{"30 executions, nested", 30, 500, Nested, 0, false, 0.98, 1},
		{"one execution, correlation -0.968", 1, 1000, Pooled, -0.968, false, 0.98, 1},
		{"one execution, correlation -0.215", 1, 1000, Pooled, -0.215, false, 0.98, 1},
		{"one execution, correlation 0.668", 1, 1000, Pooled, 0.668, false, 0, 0.98},
		{"one execution, moving average -0.968", 1, 1000, Pooled, -0.968, true, 0.98, 1},
		{"one execution, moving average -0.215", 1, 1000, Pooled, -0.215, true, 0.98, 1},
		{"one execution, moving average 0.668", 1, 1000, Pooled, 0.668, true, 0.90, 0.96},
	} {
		r := rand.New(rand.NewPCG(42, 42))
		covered := 0
		for s := range simulations {
			executions := make([][][]float64, c.executions)
			for e := range executions {
				executions[e] = [][]float64{dependent(r, c.length, c.correlation, c.average)}
			}
			got, err := Mean(executions, Options{Scheme: c.scheme, Seed: uint64(s), Resamples: 10000,
				Workers: 2})
			must.Do(t, err)
			if got.Low <= 1 && 1 <= got.High {
				covered++
			}
		}
		share := float64(covered) / simulations
		t.Logf("%-36s %5.1f%%", c.name, 100*share)
		must.Be(t, share >= c.low && share <= c.high, c.name, "covered in", 100*share, "%, want",
			100*c.low, "to", 100*c.high, "%")
	}
}

// dependent is a first-order autoregression, or moving average, about 1.
func dependent(r *rand.Rand, n int, coefficient float64, average bool) []float64 {
	x := make([]float64, n)
	noise := r.NormFloat64()
	fresh := noise
	for i := range x {
		x[i] = 1 + 0.01*noise
		before := noise
		if average {
			before = fresh
		}
		fresh = r.NormFloat64()
		noise = coefficient*before + fresh
	}
	return x
}
