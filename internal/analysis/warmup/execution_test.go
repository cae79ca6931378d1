package warmup

import (
	"math"
	"testing"

	"krund/rig/must"
)

func TestGeorges(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   Georges
	}{
		{"nothing", nil, Georges{CoV: Real(math.NaN())}},
		{"shorter than the window", []float64{1, 1}, Georges{CoV: Real(math.NaN())}},
		{"constant", []float64{5, 5, 5}, Georges{true, 1, 0}},
		{"steady from the third", []float64{9, 6, 2, 2, 2, 7}, Georges{true, 3, 0}},
		// mean 10, sample standard deviation 1
		{"never", []float64{9, 10, 11}, Georges{CoV: 0.1}},
		{"the least of the windows", []float64{9, 10, 11, 10.5}, Georges{CoV: 0.5 / 10.5}},
		{"zeros", []float64{0, 0, 0}, Georges{CoV: Real(math.NaN())}},
		{"zeros, then steady", []float64{0, 0, 0, 4, 4, 4}, Georges{true, 4, 0}},
	} {
		got := georges(c.values, 3, 0.01)
		same := got.CoV == c.want.CoV || math.Abs(float64(got.CoV-c.want.CoV)) < 1e-12 ||
			math.IsNaN(float64(got.CoV)) && math.IsNaN(float64(c.want.CoV))
		must.Be(t, got.Found == c.want.Found && got.Iteration == c.want.Iteration && same, c.name, got,
			c.want)
	}
}
