package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestWelch checks against the formula, with quantiles of t from R 4.2.2 (qt).
func TestWelch(t *testing.T) {
	x := []float64{1, 1, 1}
	if got := welch(x, x, 0.99); got != 0 {
		t.Errorf("without spread: %v", got)
	}
	// Two degrees of freedom, from one side alone: t = 9.92484, s = 0.01.
	y := []float64{0.99, 1, 1.01}
	want := 9.9248432 * 0.01 / math.Sqrt(3)
	for _, got := range []float64{welch(x, y, 0.99), welch(y, x, 0.99)} {
		if math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%v, want %v", got, want)
		}
	}
	// Equal spreads: 4 degrees of freedom, t = 4.6040949.
	want = 4.6040949 * 0.01 * math.Sqrt(2./3)
	if got := welch(y, y, 0.99); math.Abs(got/want-1) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := welch([]float64{1e-9, 1e9, 1}, y, 1-1e-15); got != widest {
		t.Errorf("knows nothing: %v, want %v", got, float64(widest))
	}
}

// TestFalseAlarmsOfFewExecutions compares executions that differ from each other, but come from the
// same distribution on both sides: at 99% one in 100 comparisons may say that something changed,
// also with few executions.
func TestFalseAlarmsOfFewExecutions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	group := func(n int) [][][]float64 {
		e := make([][][]float64, n)
		for i := range e {
			centre := 1 + 0.05*r.NormFloat64()
			values := make([]float64, 20)
			for j := range values {
				values[j] = centre + 0.01*r.NormFloat64()
			}
			e[i] = [][]float64{values}
		}
		return e
	}
	const rounds = 300
	for _, n := range []int{3, 5, 10} {
		alarms := 0
		for range rounds {
			r, err := ratioOf(group(n), group(n), 0.99, 2000)
			if err != nil {
				t.Fatal(err)
			}
			if v := r.judge(0.0001); v == Better || v == Worse {
				alarms++
			}
		}
		t.Logf("%d executions: %d of %d comparisons say that something changed", n, alarms, rounds)
		if alarms > 9 { // 3 are expected; more than 9 in one of 900 tests
			t.Errorf("%d executions: %d of %d comparisons say that something changed", n, alarms, rounds)
		}
	}
}
