package warmupend_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmupend"
	"krund/internal/exchange"
	"krund/internal/experiment/fixtures"
	"krund/rig/must"
)

func TestCount(t *testing.T) {
	var r warmupend.Row
	for _, steps := range []float64{0, 5, -5, 5.01, -5.01, 30} {
		r.Count(steps, steps > 5)
	}
	must.Equal(t, r, (warmupend.Row{Executions: 6, Within: 3, Early: 1, Late: 2, Off: 2}))
}

func TestIsOff(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      bool
	}{
		{1.04, 1.08, true},   // middle 1.06
		{1.03, 1.06, false},  // middle 1.045
		{0.98, 1.2, false},   // contains 1
		{0.90, 0.94, true},   // middle 0.92
		{0.955, 0.96, false}, // middle 0.9575
	} {
		must.Equal(t, warmupend.IsOff(c.low, c.high), c.want, c.low, "to", c.high)
	}
}

// steps are executions of 1,500 batches of 100 ms whose first 205 take longer.
func steps(height float64) []warmupend.LabeledSeries {
	r := rand.New(rand.NewPCG(1, 2))
	var list []warmupend.LabeledSeries
	for e := range 4 {
		values := make([]float64, 1500)
		for i := range values {
			values[i] = 0.001 * (1 + 0.005*r.NormFloat64())
			if i < 205 {
				values[i] *= 1 + height
			}
		}
		list = append(list, warmupend.LabeledSeries{Key: "k", Number: e + 1, Values: values, Start: 205})
	}
	return list
}

// TestStep: a step of one half after 20.5 s. The width of the interval is already below 3 % in each
// window before the step, and again only after many steps; the analysis finds the step.
func TestStep(t *testing.T) {
	rows, short, err := warmupend.Of(steps(0.5), batches(), 2)
	must.Need(t, err == nil && short == 0, short, err)
	got := map[string]warmupend.Row{}
	for _, r := range rows {
		got[r.Policy] = r
	}
	for _, want := range []warmupend.Row{
		{Policy: "cv (recommended, jmh)", Executions: 4, Early: 4, Off: 4},
		{Policy: "rciw (recommended, study)", Executions: 4, Early: 4, Off: 4},
		{Policy: "longest warm-up", Executions: 4, Late: 4},
		{Policy: "krunctl analyze", Executions: 4, Within: 4},
	} {
		must.Equal(t, got[want.Policy], want)
	}
	for _, e := range steps(0.5) {
		e.Values = e.Values[:599]
		_, short, err := warmupend.Of([]warmupend.LabeledSeries{e}, batches(), 1)
		must.Be(t, short == 1 && err == nil, "59 s: short", short, err)
	}
}

// TestInject: the made series have the height before their start and not after it, and the start is
// after 2 to 45 steps.
func TestInject(t *testing.T) {
	made := warmupend.Inject(steps(0.5), 1, batches(), 1)
	must.Need(t, len(made) == 4, len(made))
	for _, e := range made {
		must.Be(t, e.Start >= 20 && e.Start < 450 && len(e.Values) == 1500, "starts at", e.Start,
			len(e.Values))
		for i, v := range e.Values {
			if slow := v > 0.0015; slow != (i < e.Start) {
				t.Fatalf("iteration %d takes %v s; the steady state starts at %d", i, v, e.Start)
			}
		}
	}
	short := steps(0.5)[:1]
	short[0].Start = 1400
	must.Equal(t, len(warmupend.Inject(short, 1, batches(), 1)), 0, "100 steady iterations are too few")
}

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
