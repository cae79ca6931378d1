package arith

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

// TestSort: all magnitudes and signs, many ties, and bytes that all values share.
func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for n := range 300 {
		x := []float64{math.Inf(1), math.Inf(-1), 0, 5e-324, -5e-324}[:min(n, 5)]
		for len(x) < n {
			x = append(x, number(r), 1+float64(r.IntN(9))/8)
		}
		want := slices.Sorted(slices.Values(x))
		order := Ascending(x)
		for k := 1; k < len(order); k++ {
			i, j := order[k-1], order[k]
			must.Be(t, x[i] < x[j] || x[i] == x[j] && (i < j || x[i] == 0), x[i], i, x[j], j)
		}
		Sort(x)
		must.EqualList(t, x, want)
	}
}
