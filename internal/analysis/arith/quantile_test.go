package arith

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

func TestPercentile(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		name   string
		values []float64
		pc     float64
		want   float64
	}{
		{"numpy.percentile(range(1, 11), 5)", ten, 5, 1.45},
		{"numpy.percentile(range(1, 11), 95)", ten, 95, 9.55},
		{"the least", ten, 0, 1},
		{"the greatest", ten, 100, 10},
		{"a whole position", []float64{1, 2, 4, 8, 16}, 25, 2},
		{"one value", []float64{7}, 90, 7},
	} {
		got := Percentile(c.values, c.pc)
		must.Be(t, math.Abs(got-c.want) <= 1e-12, c.name, got, "want", c.want)
	}
	got := Percentile(nil, 50)
	must.Be(t, math.IsNaN(got), "percentile of nothing", got, "want NaN")
}

func TestSpreadOfKeepsTheOrderOfItsInput(t *testing.T) {
	in := []float64{3, 1, 2}
	got := SpreadOf(in)
	must.Be(t, got.Median == 2 && math.Abs(got.P5-1.1) <= 1e-12 && math.Abs(got.P95-2.9) <= 1e-12, got)
	must.EqualList(t, in, []float64{3, 1, 2}, "SpreadOf changed its input")
}

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
