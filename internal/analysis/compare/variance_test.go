package compare

import (
	"math"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestUnequalSpread: a change whose sides vary differently has a remark with the way out; equal
// spreads, a key without a change, and blocks have none.
func TestUnequalSpread(t *testing.T) {
	level := func(v float64) map[string]float64 { return map[string]float64{"a": v} }
	for _, c := range []struct {
		name          string
		before, after Side
		paired, want  bool
	}{
		{"8 times as much", side(t, 1, 8, 0.002, level(0.5)), side(t, 2, 8, 0.016, level(0.7)), false, true},
		{"before", side(t, 2, 8, 0.016, level(0.7)), side(t, 1, 8, 0.002, level(0.5)), false, true},
		{"as much", side(t, 1, 8, 0.01, level(0.5)), side(t, 2, 8, 0.01, level(0.7)), false, false},
		{"no change", side(t, 1, 8, 0.002, level(0.5)), side(t, 2, 8, 0.016, level(0.5)), false, false},
		{"blocks", side(t, 1, 8, 0.002, level(0.5)), side(t, 2, 8, 0.016, level(0.7)), true, false},
	} {
		got := mustCompare(t, c.before, c.after, Options{Paired: c.paired}).Changes[0]
		text := warningOf(got, "unequal_spread")
		must.Be(t, (text != "") == c.want, c.name, got.Verdict, text)
		must.Be(t, !c.want || strings.Contains(text, "measure both sides in blocks"), text)
		more := "the executions after vary"
		if c.name == "before" {
			more = "the executions before vary"
		}
		must.Be(t, !c.want || strings.Contains(text, more), text)
	}
}

// TestConstantSide: a side that does not vary at all is the most unequal spread of all, not one
// that has none to compare.
func TestConstantSide(t *testing.T) {
	side := func(values ...float64) []reduced {
		var list []reduced
		for i, v := range values {
			list = append(list, reduced{Execution: Execution{Number: i + 1, Value: v}})
		}
		return list
	}
	after := side(1.05, 1.13, 1.07, 1.11, 1.06, 1.12, 1.08, 1.1)
	of := func(last float64) estimate {
		before := side(1, 1, 1, 1, 1, 1, 1, last)
		return decide([]row{{before, after}}, false, Options{}.withDefaults()).rows[0].steady
	}
	constant, nearly := of(1), of(1.0001)
	must.Equal(t, constant.test, WelchT)
	must.Be(t, constant.unequalSpreads() > 1 && nearly.unequalSpreads() > 1, constant, nearly)
	must.Be(t, math.Abs(math.Log(constant.p()/nearly.p())) < 0.5, constant.p(), nearly.p())
}

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
