package compare

import (
	"math"
	"testing"

	"krund/rig/must"
)

func nearTo(t *testing.T, what string, got, want float64) {
	t.Helper()
	must.Be(t, math.Abs(got-want) <= 1e-4*math.Abs(want), what, got, "want", want)
}

// TestOf: of each execution only the second half counts, and of it the middle three fifths.
func TestNoiseFloorOf(t *testing.T) {
	execution := func(mean float64) []float64 {
		return []float64{9, 9, 9, 9, 9, 1e6, mean, mean, mean, 0.01}
	}
	f := must.Get(NoiseFloorOf([][]float64{execution(100), execution(101), execution(99)}))(t)
	nearTo(t, "mean", f.Mean, 100)
	nearTo(t, "sd", f.SDLog, 0.0100003) // R: sd(log(c(100, 101, 99)))
}

// TestDetectable: R, power.t.test(n, sd = 0.016, power = 0.8, tol = 1e-12)$delta, then expm1. 0.016
// is the median between-execution deviation of 200 JMH benchmarks.
func TestNoiseFloorDetectable(t *testing.T) {
	f := NoiseFloor{SDLog: 0.016}
	for n, d := range map[int]float64{5: 0.032391056, 10: 0.021199182, 30: 0.011769951} {
		nearTo(t, "detectable", f.Detectable(n), math.Expm1(d))
	}
}

// TestNoiseFloorInterval: R, sqrt(9 / qchisq(c(0.975, 0.025), 9)), and t.test(log(c(1.01, 1.02,
// 1.03))).
func TestNoiseFloorInterval(t *testing.T) {
	low, high := NoiseFloor{SDLog: 1}.Interval(10)
	nearTo(t, "low", low, 0.68783530)
	nearTo(t, "high", high, 1.82561755)
	ratio, low, high := RatioOfPairs([]NoiseFloor{{Mean: 1}, {Mean: 2}, {Mean: 4}},
		[]NoiseFloor{{Mean: 1.01}, {Mean: 2.04}, {Mean: 4.12}})
	nearTo(t, "ratio", ratio, 1.0199673)
	nearTo(t, "low", low, 0.9954382)
	nearTo(t, "high", high, 1.0451008)
}

func TestNoiseFloorTooFew(t *testing.T) {
	for name, list := range map[string][][]float64{
		"two executions": {{1}, {1}}, "no iterations": {{1}, {1}, {}}, "a time of 0": {{1}, {1}, {0}},
		"not a number": {{1}, {1}, {math.NaN()}},
	} {
		_, err := NoiseFloorOf(list)
		must.Fail(t, err, ErrFloorTooFew, name)
	}
}
