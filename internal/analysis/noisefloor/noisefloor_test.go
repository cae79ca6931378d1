package noisefloor

import (
	"errors"
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4*math.Abs(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestOf: of each execution only the second half counts, and of it the middle three fifths.
func TestOf(t *testing.T) {
	execution := func(mean float64) []float64 {
		return []float64{9, 9, 9, 9, 9, 1e6, mean, mean, mean, 0.01}
	}
	f, err := Of([][]float64{execution(100), execution(101), execution(99)})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", f.Mean, 100)
	near(t, "sd", f.SDLog, 0.0100003) // R: sd(log(c(100, 101, 99)))
}

// TestDetectable: R, (qt(.975, 2*n-2) + qt(.8, 2*n-2)) * 0.016 * sqrt(2/n), then expm1. 0.016 is
// the median between-execution deviation of 200 JMH benchmarks.
func TestDetectable(t *testing.T) {
	f := Floor{SDLog: 0.016}
	for n, d := range map[int]float64{
		5:  (2.306004 + 0.8888895) * 0.016 * math.Sqrt(2.0/5),
		10: (2.100922 + 0.8620487) * 0.016 * math.Sqrt(2.0/10),
		30: (2.001717 + 0.8480617) * 0.016 * math.Sqrt(2.0/30),
	} {
		near(t, "detectable", f.Detectable(n), math.Expm1(d))
	}
}

func TestTooFew(t *testing.T) {
	for name, list := range map[string][][]float64{
		"two executions": {{1}, {1}}, "no iterations": {{1}, {1}, {}}, "a time of 0": {{1}, {1}, {0}},
		"not a number": {{1}, {1}, {math.NaN()}},
	} {
		if _, err := Of(list); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
