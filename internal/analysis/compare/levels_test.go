package compare

import (
	"math"
	"testing"

	"krund/rig/must"
)

// keyOf is a key with values exp(logs) on machines a, b, ...
func keyOf(name string, groups ...[]float64) KeyMachines {
	k := KeyMachines{Key: name}
	for i, logs := range groups {
		for _, v := range logs {
			k.Values = append(k.Values, Observation{Value: math.Exp(v), Machine: string(rune('a' + i))})
		}
	}
	return k
}

// TestMachineLevels: the example of TestAnalysisOfVariance by hand. The variance within machines is
// 1 with 6 degrees of freedom, that of a level less the mean (4/9+1/9+1/9)/3, that of the
// difference of two 2/3. The tail of Student's t above q is 0.05/6 by its closed form for 6 degrees
// of freedom: there are three machines, and three pairs of them.
func TestMachineLevels(t *testing.T) {
	const q = 3.287455
	l := MachineLevels([]KeyMachines{
		keyOf("one machine", []float64{1, 2}),
		keyOf("k", []float64{1, 2, 3}, []float64{2, 3, 4}, []float64{6, 7, 8}),
		{Key: "not positive", Values: []Observation{{0, 0, "a"}, {0, 1, "a"}, {0, 1, "b"}, {0, 2, "b"}}},
	}, 0.95, 9)
	must.Need(t, len(l.Keys) == 1 && l.Tests == 1 && l.Differ == 1 && l.Omitted == 0, l)
	k := l.Keys[0]
	half := q * math.Sqrt(2./9)
	for i, want := range []float64{-2, -1, 3} {
		m := k.Levels[i]
		for j, got := range []float64{float64(m.Relative), float64(m.Low), float64(m.High)} {
			w := math.Expm1(want + []float64{0, -half, half}[j])
			must.Be(t, math.Abs(got-w) <= 1e-5*(1+math.Abs(w)), m.Machine, got, "want", w)
		}
	}
	half = q * math.Sqrt(2./3)
	if !close9(float64(k.P), 1./512) || !close9(k.Corrected, 1./512) || !close9(float64(k.Share), 20./23) ||
		!close9(float64(k.Spread), math.Expm1(5)) || math.Abs(float64(k.Low)/math.Expm1(5-half)-1) > 1e-5 ||
		math.Abs(float64(k.High)/math.Expm1(5+half)-1) > 1e-5 {
		t.Errorf("%+v", k)
	}
}

// TestMachineLevelsOfUnequalMachines: with variances of 1 and 10000 of 8 executions each, the
// difference of two machines has Welch's degrees of freedom (v+w)²/(v²+w²)*7.
func TestMachineLevelsOfUnequalMachines(t *testing.T) {
	quiet, noisy := make([]float64, 8), make([]float64, 8)
	for i := range quiet {
		quiet[i] = math.Sqrt(7./42) * float64(2*i-7) / 2 // sum of squares 7
		noisy[i] = 100 * quiet[i]
	}
	g, ok := groupsOf(keyOf("k", quiet, noisy))
	e := g.residual()
	must.Need(t, ok && unlike(g.logs) && close9(variance(quiet), 1) && e.freedom == 14, g)
	e.factor = 2. / 8
	e.welchContrast([]float64{1, -1}, g.logs)
	if math.Abs(e.variance*e.factor-10001./8) > 1e-6 || math.Abs(e.freedom-10001.*10001*7/(1+1e8)) > 1e-6 {
		t.Errorf("%+v", e)
	}
}

// TestMachineLevelsSentence: e^0.08 is 1.0833. Ten executions of a machine are 0.005 above or below
// its level, so that half the interval is 0.00738: the root of 0.005²*30/27*2/10 times 3.130. The
// tail of Student's t above that is 0.05/24 (4 keys, 3 pairs of machines, both sides) by numerical
// integration with 27 degrees of freedom.
func TestMachineLevelsSentence(t *testing.T) {
	of := func(name string, slower float64) KeyMachines {
		groups := make([][]float64, 3)
		for i := range groups {
			for j := range 10 {
				groups[i] = append(groups[i], 0.005*float64(2*(j%2)-1))
			}
		}
		for i := range groups[2] {
			groups[2][i] += slower
		}
		return keyOf(name, groups...)
	}
	same := []KeyMachines{of("s", 0), of("t", 0)}
	for want, keys := range map[string][]KeyMachines{
		"": {keyOf("k", []float64{1, 2})},
		"too few executions to compare the machines":             {keyOf("k", []float64{1}, []float64{2})},
		"no difference between the machines was found in 2 keys": same,
		"the machines differ by up to 8.33 % (7.53, 9.13) in b; 2 of 4 keys differ": append(
			[]KeyMachines{of("a", 0.03), of("b", 0.08)}, same...),
	} {
		l := MachineLevels(keys, 0.95, 1)
		got := l.String()
		must.Be(t, got == want && l.Omitted == max(len(keys)-1, 0), got, "want", want, l)
	}
}
