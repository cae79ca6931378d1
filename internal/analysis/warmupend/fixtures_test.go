package warmupend_test

import (
	"math"
	"testing"

	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmupend"
	"krund/internal/exchange"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

// annotations reads the table of the study.
func annotations(t *testing.T) []exchange.SteadyState {
	t.Helper()
	list := must.Get(exchange.ReadSteadyStates(fixtures.Open(t,
		fixtures.Path(t, "traini/cfg_assessment.csv.gz"))))(t)
	return list
}

// TestPublished: the annotations of the study give its own rows, to the digit (FIELD: 5,219 forks
// with a steady state).
func TestPublished(t *testing.T) {
	want := map[string][4]float64{ // forks; within 5 s, too early, off by more than 5 %
		"Dev": {5219, 19.3, 32.4, 25.6}, "Ci": {2249, 2.8, 24.9, 15.3}, "Cov": {1601, 11.1, 39.0, 39.9},
		"Divergence": {2350, 8.1, 36.7, 35.5}}
	rows := map[string]*warmupend.Row{}
	for _, s := range annotations(t) {
		if rows[s.Technique] == nil {
			rows[s.Technique] = &warmupend.Row{}
		}
		if s.Steady {
			rows[s.Technique].Count(s.Seconds, warmupend.IsOff(s.Low, s.High))
		}
	}
	for name, w := range want {
		r := rows[name]
		n := float64(r.Executions)
		got := [4]float64{n}
		for i, k := range []int{r.Within, r.Early, r.Off} {
			got[i+1] = 100 * float64(k) / n
		}
		for i, v := range got {
			if math.Abs(v-w[i]) > 0.05+1e-3 { // 15.25 is printed as 15.3, 2.85 as 2.8
				t.Errorf("%s: %v, want %v", name, got, w)
			}
		}
	}
	t.Logf("%d rows of techniques compared", len(want))
}

// batches are the study's: steps of a second, recorded values are means of 100 ms.
func batches() stability.Parameters {
	p := stability.Default()
	p.Step, p.Batch, p.Seed = stability.Length{Seconds: 1}, 0.1, 1
	return p
}
