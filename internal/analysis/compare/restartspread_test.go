package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// Expected values from R 4.2: anova(lm(log(x) ~ boot)), the variance components from its mean
// squares, and qf for the interval.
func TestRestartSpreadOf(t *testing.T) {
	s, ok := RestartSpreadOf([][]float64{{1.00, 1.02, 1.01}, {}, {1.05, 1.06}, {0.98, 0.99, 1.00, 0.97}})
	must.Need(t, ok && s.Boots == 3 && s.Executions == 9, s, ok)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"between", s.Between, 0.032363951014},
		{"within", s.Within, 0.011228123386},
		{"share", s.Share, 0.892568235282},
		{"p", s.P, 0.001229750086},
		{"low", s.Range[0], 0.4896821429},
		{"high", s.Range[1], 0.9973527123},
	} {
		must.Be(t, math.Abs(c.got-c.want) <= 1e-9, c.name, c.got, "want", c.want)
	}
}

func TestRestartSpreadRefuses(t *testing.T) {
	for name, boots := range map[string][][]float64{
		"nothing":             nil,
		"one boot":            {{1, 2, 3}},
		"one execution each":  {{1}, {2}, {3}},
		"a level of zero":     {{1, 0}, {1, 2}},
		"an infinite level":   {{1, math.Inf(1)}, {1, 2}},
		"no level":            {{1, math.NaN()}, {1, 2}},
		"all values the same": {{1, 1}, {1, 1}},
	} {
		s, ok := RestartSpreadOf(boots)
		must.Be(t, !ok, name, s)
	}
}

// TestErrorRates: without variation between boots the F test rejects in 5 % of 4,000 experiments of
// 6 boots with 2 to 5 executions, within three standard errors; and with a share of a half, the
// interval contains it in 95 %.
func TestRestartSpreadErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const times = 4000
	rejected, covered := 0, 0
	for _, between := range []float64{0, 0.01} {
		for range times {
			var boots [][]float64
			for i := range 6 {
				boot, level := between*r.NormFloat64(), []float64{}
				for range 2 + i%4 {
					level = append(level, math.Exp(boot+0.01*r.NormFloat64()))
				}
				boots = append(boots, level)
			}
			s, ok := RestartSpreadOf(boots)
			switch {
			case !ok:
				t.Fatal("no estimate")
			case between == 0 && s.P <= 0.05:
				rejected++
			case between > 0 && s.Range[0] <= 0.5 && s.Range[1] >= 0.5:
				covered++
			}
		}
	}
	error := func(p float64) float64 { return 3 * math.Sqrt(p*(1-p)/times) }
	if got := float64(rejected) / times; math.Abs(got-0.05) > error(0.05) {
		t.Errorf("rejected in %.4f of the experiments without variation between boots", got)
	}
	got := float64(covered) / times
	must.Be(t, math.Abs(got-0.95) <= error(0.95), "the interval contains the share in", got)
}
