package compare

import (
	"math"
	"testing"

	"krund/rig/must"
)

// TestRankSum compares with R's wilcox.test(x, y, exact = TRUE), and with ties with the mean over
// all choices (coin's wilcox_test with distribution = "exact").
func TestRankSum(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		p    float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{[]float64{0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
			[]float64{1.15, 0.88, 0.9, 0.74, 1.21}, 0.2544122544},
		{[]float64{1, 1, 2}, []float64{2, 3, 3, 3}, 4.0 / 35},
		{[]float64{5}, []float64{1, 2}, 2.0 / 3},
	} {
		p := rankSumP(c.x, c.y)
		must.Be(t, math.Abs(p-c.p) < 1e-9, p, c.p)
		must.Equal(t, rankSumP(c.y, c.x), p)
	}
}
