package arith

import (
	"math"
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

func TestMedianIsTheFiftiethPercentile(t *testing.T) {
	for n := 1; n < 50; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i * i)
		}
		if m, p := Median(values), Percentile(values, 50); math.Abs(m-p) > 1e-9 {
			t.Errorf("%d values: median %v, 50th percentile %v", n, m, p)
		}
	}
	got := Median(nil)
	must.Be(t, math.IsNaN(got), "median of nothing", got, "want NaN")
}

func TestSpreadOfKeepsTheOrderOfItsInput(t *testing.T) {
	in := []float64{3, 1, 2}
	got := SpreadOf(in)
	if want := (Spread{Median: 2, P5: 1.1, P95: 2.9}); math.Abs(got.P5-want.P5) > 1e-12 ||
		math.Abs(got.P95-want.P95) > 1e-12 || got.Median != want.Median {
		t.Errorf("SpreadOf = %v, want %v", got, want)
	}
	must.Be(t, in[0] == 3 && in[1] == 1 && in[2] == 2, "SpreadOf changed its input to", in)
}
