package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

// TestWithin: the effect, its variance and degrees of freedom are those of least squares with a
// level for each machine; figures by hand: 6/1.75, (33 - 6²/1.75)/5, 8-2-1.
func TestWithin(t *testing.T) {
	observations := func(machine string, values ...float64) []Observation {
		var list []Observation
		for i, v := range values {
			list = append(list, Observation{i + 1, math.Exp(v), machine})
		}
		return list
	}
	s := sample{append(observations("a", 0, 2), observations("b", 10, 12, 14)...),
		append(observations("a", 3, 5), observations("b", 16)...)}
	e := estimateOf(s, false)
	if !e.ok || !close9(e.effect(), 6/1.75) || !close9(e.variance, (33-36/1.75)/5) || e.freedom != 5 ||
		!close9(e.factor, 1/1.75) {
		t.Errorf("%+v", e)
	}
	// without a machine that has both sides, the sides are compared as they are
	s = sample{observations("a", 0, 2), observations("b", 10, 12)}
	if e = estimateOf(s, false); !e.ok || !close9(e.effect(), 10) || e.freedom != 2 {
		t.Errorf("%+v", e)
	}
}

// TestAnalysisOfVariance: an example by hand, F = 21 with 2 and 6 degrees of freedom, for which the
// tail is (1 + 2F/6)^-3.
func TestAnalysisOfVariance(t *testing.T) {
	a := analysisOf([][]float64{{1, 2, 3}, {2, 3, 4}, {6, 7, 8}})
	must.Be(t, close9(a.p, 1./512) && close9(a.share, 20./23), a)
	for _, groups := range [][][]float64{nil, {{1, 2}}, {{1}, {2}}, {{1, 1}, {2, 2}}} {
		a := analysisOf(groups)
		must.Be(t, math.IsNaN(a.p), groups, a)
	}
	// the same values on three machines: by rounding, the variance between them is a little below 0
	r := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		same := make([]float64, 60)
		for i := range same {
			same[i] = 14 + 0.001*r.NormFloat64()
		}
		a := analysisOf([][]float64{same, same, same})
		must.Need(t, a.p > 0.999 && a.share == 0, a)
	}
	// changes of 1, 1 and 4 with 2 against 2 values each: between (3 w=1: 6)/2, residual 3/6
	cells := []cell{{x: []float64{0, 1}, y: []float64{1, 2}}, {x: []float64{5, 6}, y: []float64{6, 7}},
		{x: []float64{0, 1}, y: []float64{4, 5}}}
	p := interaction(cells)
	must.Be(t, close9(p, 1./(1+2*3/0.5/6)/(1+2*3/0.5/6)/(1+2*3/0.5/6)), p)
}

// onMachines are three keys in two arms, 15 blocks on three machines, of which the third is 8%
// slower, and where key a changes by 2% on the machines together, or only on the third.
func onMachines(t *testing.T, only bool) Side {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	d := &dataset.Dataset{Info: dataset.Info{Blocked: true}}
	for _, benchmark := range []string{"a", "b", "c"} {
		for block := range 15 {
			machine := block % 3
			for arm, name := range []string{"base", "new"} {
				level := 1 + 0.002*r.NormFloat64()
				if machine == 2 {
					level *= 1.08
				}
				if arm == 1 && benchmark == "a" && (!only || machine == 2) {
					level *= 1.02
				}
				e := execution(block+1, steadily(r, 100, level))
				e.Machine = string(rune('x' + machine))
				d.Add(key.Key{Benchmark: benchmark, VM: "v", Variant: "x", Arm: name}, e)
			}
		}
	}
	return analyzed(t, d)
}

func TestMachines(t *testing.T) {
	of := onMachines(t, false)
	for _, paired := range []bool{true, false} {
		r := mustCompare(t, armOf(of, "base"), armOf(of, "new"), Options{Paired: paired, Splits: 200})
		must.Be(t, r.Counts[Worse] == 1 && r.Counts[Same] == 2 && r.Changes[0].Verdict == Worse, "paired",
			paired, r.Counts)
		m := r.Changes[1].Machines
		if m == nil || m.Machines != 3 || m.Corrected > 1e-6 || math.Abs(float64(m.Spread)-0.08) > 0.004 ||
			m.Share < 0.9 || m.ChangeCorrected < 0.05 {
			t.Errorf("paired %v: %+v", paired, m)
		}
		must.Be(t, hasWarning(r, "machine_levels") && !hasWarning(r, "machine_changes"), "paired", paired,
			r.Warnings)
		must.Be(t, r.Calibration.Low <= 0.05, "paired", paired, r.Calibration)
	}
	of = onMachines(t, true)
	for _, paired := range []bool{true, false} {
		r := mustCompare(t, armOf(of, "base"), armOf(of, "new"), Options{Paired: paired})
		must.Be(t, hasWarning(r, "machine_changes") && strings.Contains(r.Warnings[1].Text, "a:v:x)"),
			"paired", paired, r.Warnings)
	}
}

func hasWarning(r *Result, code string) bool {
	for _, w := range r.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func close9(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestWelchAnalysis: R 4.2.2, oneway.test.
func TestWelchAnalysis(t *testing.T) {
	groups := [][]float64{{1, 2, 3, 4, 5}, {2, 4, 6, 8}, {10, 11, 15, 16, 18}}
	p := welchOf(groups)
	must.Be(t, close9(p, 0.00205857911926427), p)
	a := analysisOf(groups)
	must.Be(t, close9(a.p, 0.00205857911926427), a)
	// values of a machine that are all equal have no variance of their own
	a = analysisOf([][]float64{{1, 1, 1, 1}, {1, 2, 3, 4}})
	must.Be(t, a.p > 0 && a.p < 1, a)
}

// TestLevelsOf: the machines of each arm are compared apart.
func TestLevelsOf(t *testing.T) {
	side := onMachines(t, false)
	l := LevelsOf(side.Data, side.Doc, 0.95, 4)
	must.Need(t, len(l.Keys) == 4 && l.Tests == 6 && l.Differ == 6 && l.Omitted == 2, l)
	if k := l.Keys[0]; math.Abs(float64(k.Spread)-0.08) > 0.004 || len(k.Levels) != 3 ||
		k.Levels[2].Machine != "z" || k.Levels[2].Executions != 5 {
		t.Errorf("%+v", k)
	}
	for i := range side.Data.Pairs {
		for j := range side.Data.Pairs[i].Executions {
			side.Data.Pairs[i].Executions[j].Machine = ""
		}
	}
	must.Equal(t, LevelsOf(side.Data, side.Doc, 0.95, 4).String(), "", "one machine")
}
