package sequential

import (
	"math"
	"testing"

	"krund/rig/must"
)

// TestLogE compares with R: log(integrate(dt(t, nu, ncp = d sqrt(n)) dnorm(d, 0, sqrt(10))) / dt(t,
// nu)), and uniroot for the half width.
func TestLogE(t *testing.T) {
	a := []float64{0.3, -0.1, 0.8, 0.4, 0.6}
	b := []float64{1.01, 1.02, 1.00, 1.03, 1.02, 1.01, 1.02}
	c := []float64{-1, 2, -3, 1, 0.5, 2.5}
	for _, test := range []struct {
		values                []float64
		at, logE, alpha, half float64
	}{
		{a, 0, 0.469358309067, 0.05, 0.8206965893446},
		{b, 1, 2.59646676021, 0.05, 0.0170064440447},
		{b, 1, 2.59646676021, 0.001, 0.0350311952649},
		{c, 0, -1.96251428875, 0.05, 4.0868427472765},
	} {
		s := SampleOf(test.values)
		got := s.LogE(test.at)
		must.Be(t, math.Abs(got-test.logE) <= 1e-9, test.values, "log e is", got, "R has", test.logE)
		half := s.Half(test.alpha)
		must.Be(t, math.Abs(half/test.half-1) <= 1e-7, test.values, "half width", half, "R has", test.half)
		if got := s.LogE(s.Mean + half); math.Abs(got+math.Log(test.alpha)) > 1e-9 {
			t.Errorf("%v: at the end of the interval log e is %v", test.values, got)
		}
	}
}

func TestUnknown(t *testing.T) {
	for name, values := range map[string][]float64{
		"none": nil, "one": {3}, "equal": {3, 3, 3, 3}, "huge": {-1e200, 1e200},
	} {
		s := SampleOf(values)
		if !math.IsNaN(s.LogE(0)) || !math.IsInf(s.Half(0.05), 1) {
			t.Errorf("%s: log e %v, half width %v", name, s.LogE(0), s.Half(0.05))
		}
	}
	half := SampleOf([]float64{1, 2, 3}).Half(0.001)
	must.Be(t, math.IsInf(half, 1), "three values exclude something at 0.1 %", half)
}

// TestLogMajority compares with R: log(2 2^n integrate(p^k (1-p)^(n-k), 0.5, 1)).
func TestLogMajority(t *testing.T) {
	for _, test := range []struct {
		k, n int
		want float64
	}{
		{5, 5, 2.35137525716}, {9, 9, 4.62790967296}, {9, 10, 2.91826201188}, {5, 10, -0.99585255471},
		{28, 30, 11.97822913035}, {0, 3, -1.38629436112}, {0, 0, 0},
	} {
		got := LogMajority(test.k, test.n)
		must.Be(t, math.Abs(got-test.want) <= 1e-9, test.k, "of", test.n, got, "R has", test.want)
	}
	for n := range 12 { // a fair game: the mean over the coin flips is 1
		sum := 0.0
		for k := range n + 1 {
			choose, _ := math.Lgamma(float64(n + 1))
			a, _ := math.Lgamma(float64(k + 1))
			b, _ := math.Lgamma(float64(n - k + 1))
			sum += math.Exp(choose-a-b+LogMajority(k, n)) * math.Pow(0.5, float64(n))
		}
		must.Be(t, math.Abs(sum-1) <= 1e-12, "after", n, "executions the mean of the e-value is", sum)
	}
}
