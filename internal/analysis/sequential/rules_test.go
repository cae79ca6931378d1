package sequential

import (
	"math"
	"strings"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/experiment/key"
	"krund/internal/experiment/stop"
	"krund/rig/must"
)

// measured returns a key with executions of these values, all flat.
func measured(arm string, values ...float64) Key {
	k := Key{Name: key.Key{Benchmark: "b", VM: "v", Variant: "x", Arm: arm}, Null: arm == "again"}
	for i, v := range values {
		k.Executions = append(k.Executions, Execution{
			Execution: compare.Execution{Number: i + 1, Value: v, Class: classify.Flat}})
	}
	return k
}

// exps are values with these logarithms.
func exps(logs ...float64) []float64 {
	values := make([]float64, len(logs))
	for i, l := range logs {
		values[i] = math.Exp(l)
	}
	return values
}

// TestDecide: the half widths are those of uniroot in R, as in TestLogE: 2.83 % after the first
// four of ones, 1.84 % after five, 1.37 % after six.
func TestDecide(t *testing.T) {
	ones := exps(0, 0.01, -0.01, 0.005, -0.002, 0.003)
	slower := func(by float64) []float64 { // by and a little noise in each block
		values := make([]float64, len(ones))
		for i, v := range ones {
			values[i] = v * by * math.Exp(0.0001*float64(i*i%5))
		}
		return values
	}
	base := measured("a", ones...)
	for name, test := range map[string]struct {
		rule   stop.Rule
		group  Group
		finish bool
		text   string
	}{
		"below the minimum": {stop.HalfWidth, Group{measured("", 1, 2)},
			false, "2 of at least 3 executions"},
		"level known": {stop.HalfWidth, Group{measured("", ones...)},
			true, "known to ± 1.37 %"},
		"level not known": {stop.HalfWidth, Group{measured("", 1, 2, 3, 1, 2)},
			false, "known to ±"},
		"all equal": {stop.HalfWidth, Group{measured("", 2, 2, 2, 2)},
			false, "all executions are equal"},
		"not positive": {stop.HalfWidth, Group{measured("", 1, 0, 2)},
			false, "not positive"},
		"worse": {stop.Verdict, Group{base, measured("n", slower(1.1)...)},
			true, "n: worse"},
		"better": {stop.Verdict, Group{base, measured("n", slower(0.9)...)},
			true, "n: better"},
		"same": {stop.Verdict, Group{base, measured("n", slower(1)...)},
			true, "n: same"},
		"noise": {stop.Verdict, Group{base, measured("n", 1, 2, 1, 3, 1, 2)},
			false, "n: cannot tell"},
		"equal differences": {stop.Verdict, Group{base, measured("n", ones...)},
			false, "not known"},
		"the null arm differs": {stop.Verdict, Group{base, measured("n", slower(1.1)...),
			measured("again", slower(1.1)...)},
			false, "again: a copy of the base, differs"},
		"class of 8": {stop.Class, Group{measured("", 1, 1, 1, 1, 1, 1, 1, 1)},
			false, "8 of 8 executions are flat; 1 more of that class would show that most are"},
		"class of 9": {stop.Class, Group{measured("", 1, 1, 1, 1, 1, 1, 1, 1, 1)},
			true, "9 of 9 executions are flat"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Policy{Rules: []stop.Rule{test.rule}, Minimum: 3, Alpha: 0.05, HalfWidth: 0.02, Margin: 0.01}
			d := p.Decide(test.group, 1)
			must.Be(t, d.Finish == test.finish && strings.Contains(d.Reason, test.text), "finish", d.Finish,
				d.Reason)
		})
	}
}

// TestIntervals: the numbers of TestLogE, as the level of a key and the ratio of an arm.
func TestIntervals(t *testing.T) {
	logs := []float64{0.3, -0.1, 0.8, 0.4, 0.6}
	p := Policy{Alpha: 0.05, HalfWidth: 0.01, Margin: 0.01}
	ones := measured("a", 1, 1, 1, 1, 1)
	for _, q := range []stop.Question{
		p.halfWidth(measured("", exps(logs...)...)), p.verdict(ones, measured("n", exps(logs...)...), 0.05),
	} {
		const half = 0.8206965893446
		for i, want := range []float64{math.Exp(0.4), math.Exp(0.4 - half), math.Exp(0.4 + half)} {
			got := *[]*float64{q.Estimate, q.Low, q.High}[i]
			must.Be(t, math.Abs(got/want-1) <= 1e-7, q.Rule, got, "want", want)
		}
	}
}

// TestStatements: two arms of two keys, one of them null, have two verdicts and two null ones.
func TestStatements(t *testing.T) {
	group := Group{measured("a"), measured("n"), measured("again")}
	for rules, want := range map[string]int{"verdict": 4, "class": 4, "verdict class": 8, "halfwidth": 1} {
		var p Policy
		for _, r := range strings.Fields(rules) {
			p.Rules = append(p.Rules, stop.Rule(r))
		}
		must.Equal(t, p.Statements([]Group{group, group}), want, rules, "statements")
	}
}

func TestReplay(t *testing.T) {
	k := measured("", exps(0, 0.01, -0.01, 0.005, -0.002, 0.003, 0, 0, 0, 0)...)
	for i := range k.Executions {
		k.Executions[i].Series, k.Executions[i].Seconds = []float64{1, 1}, 60
	}
	r := must.Get(ParseReplayable("halfwidth"))(t)
	got := ReplayOf([]Group{{k}}, r, Policy{Minimum: 3, Alpha: 0.05, HalfWidth: 0.02, Margin: 0.01})
	if got.Executions != (Saving{10, 5}) || got.Iterations != (Saving{20, 10}) ||
		got.Seconds != (Saving{600, 300}) || got.Level != (Kept{1, 1}) || got.Groups[0].Needed != 5 {
		t.Errorf("%+v", got)
	}
	must.Refused(ParseReplayable("halfwidth+nonsense"))(t, "", "an unknown policy is accepted")
}

// TestUsual: of the other keys that have three executions, the middle one varies by 2 %. The first
// key varies by 0.1 %, so that half of that, 1 %, is assumed: after five executions its level is
// not known to ± 2 %, as it is by itself. What varies by 1 % or more is taken as it is.
func TestUsual(t *testing.T) {
	vary := func(by float64) Group { return Group{measured("", exps(-by, by, 0, by, -by)...)} }
	close := vary(0.001)
	groups := []Group{
		close,
		vary(0.03),
		vary(0.02),
		vary(0.01),
		vary(0.05),
		vary(0.001),
		{measured("", 1, 2)},
	}
	usual := UsualOf(groups, 0)
	must.Be(t, math.Abs(usual-0.02) < 1e-12, usual)
	must.Equal(t, UsualOf(groups[:5], 0), 0.0, "of four keys")
	for u, finish := range map[float64]bool{0: true, usual: false} {
		p := Policy{Rules: []stop.Rule{stop.HalfWidth}, Minimum: 3, Alpha: 0.05, HalfWidth: 0.02, Usual: u}
		d := p.Decide(close, 1)
		must.Be(t, d.Finish == finish && finish != strings.Contains(d.Reason, "agree far more closely than "+
			"those of other keys (usually 2.02 %)"), u, d.Reason)
		loose := p.Decide(Group{measured("", exps(0, 0.02, -0.02, 0.01)...)}, 1)
		must.Be(t, !strings.Contains(loose.Reason, "closely"), loose.Reason)
	}
}

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
