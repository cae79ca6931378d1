package warmup

import (
	"math"
	"testing"

	"krund/rig/must"
)

func TestGeorges(t *testing.T) {
	rule := GeorgesRule{Window: 3, Threshold: 0.01}
	for _, c := range []struct {
		name   string
		values []float64
		want   GeorgesResult
	}{
		{"nothing", nil, GeorgesResult{CoV: math.NaN()}},
		{"shorter than the window", []float64{1, 1}, GeorgesResult{CoV: math.NaN()}},
		{"constant", []float64{5, 5, 5}, GeorgesResult{true, 1, 0}},
		{"steady from the third", []float64{9, 6, 2, 2, 2, 7}, GeorgesResult{true, 3, 0}},
		// mean 10, sample standard deviation 1
		{"never", []float64{9, 10, 11}, GeorgesResult{CoV: 0.1}},
		{"the least of the windows", []float64{9, 10, 11, 10.5}, GeorgesResult{CoV: 0.5 / 10.5}},
		{"zeros", []float64{0, 0, 0}, GeorgesResult{CoV: math.NaN()}},
		{"zeros, then steady", []float64{0, 0, 0, 4, 4, 4}, GeorgesResult{true, 4, 0}},
	} {
		got := rule.Find(c.values)
		same := got.CoV == c.want.CoV || math.Abs(got.CoV-c.want.CoV) < 1e-12 || math.IsNaN(got.CoV) &&
			math.IsNaN(c.want.CoV)
		must.Be(t, got.Found == c.want.Found && got.Iteration == c.want.Iteration && same, c.name, got,
			c.want)
	}
	got := (GeorgesRule{}).Find([]float64{1, 1, 1})
	must.Be(t, !got.Found, "the zero rule found", got)
}
