package warmup

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

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
