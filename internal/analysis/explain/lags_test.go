package explain

import (
	"math"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/rig/must"
)

// TestLags: late iterations are shifted by the lag, early ones in proportion, to a quarter
// (iteration 10: by 0.075 per lag) or to twice their number, and beyond the end of 300 the series
// is reflected.
func TestLags(t *testing.T) {
	c := chance{lag: 100}
	for _, x := range []struct{ i, lag, want int }{
		{150, -100, 50}, {150, 37, 187}, {250, 100, 248}, {10, 100, 20}, {10, -100, 2}, {10, 4, 10},
		{0, 100, 0}, {60, -50, 37},
	} {
		must.Equal(t, c.at(x.i, x.lag, 300), x.want, x.i, "shifted by", x.lag)
	}
}

// TestExchange: a deoptimization at a changepoint between iteration 5 and 20 of six executions.
// Lags cannot show it: most of them move so early iterations little. Of 720 orders of the
// executions only one matches all, so that p is about 1/720, or 5/720 with a fifth of the error
// rate. Where all changepoints are in the same iteration, an exchange shows nothing, and nothing is
// established.
func TestExchange(t *testing.T) {
	for _, c := range []struct {
		name        string
		at          []int
		established int
	}{
		{"different iterations", []int{8, 17, 11, 14, 5, 20}, 1},
		{"the same iteration", []int{8, 8, 8, 8, 8, 8}, 0},
	} {
		var executions []dataset.Execution
		var analyses []warmup.Execution
		for x, at := range c.at {
			e, a := made(400, nil, []int{at})
			e.Number, a.Number = x+1, x+1
			event(&e, "deopt", "f", at, 0)
			executions, analyses = append(executions, e), append(analyses, a)
		}
		k := keyOf(executions, analyses)
		must.Equal(t, len(k.Statements), c.established, c.name, k.Statements, k.Candidates)
		for _, s := range k.Statements {
			must.Be(t, s.Corrected <= 10.0/720 && s.Hits == 6, c.name, s)
		}
	}
}

// TestBursts: compilations in iterations 10 to 12 and 50 to 52 of 100 are two bursts, since a pause
// has 5 iterations or more. Those in the second half of an iteration change the next one.
func TestBursts(t *testing.T) {
	place, effect := make([]float64, 100), make([]uint8, 100)
	for _, i := range []int{10, 11, 12, 50, 52} {
		place[i], effect[i] = 1, nextOne
	}
	s := source{runs: []amounts{{place: place, effect: effect}}}
	for which, want := range map[Feature][]int{First: {11, 51}, Last: {13, 53}} {
		var got []int
		for i, weight := range s.burstMarks([]*run{{n: 100}}, which)[0] {
			if weight == exactly {
				got = append(got, i)
			}
		}
		must.EqualList(t, got, want, which)
	}
}

// TestDeviation: of 20 lags the two with the most evidence do not count, the others have a variance
// of 5/18 - (5/18)^2, and 0.25 more.
func TestDeviation(t *testing.T) {
	lags := make([]float64, 20)
	for i, w := range []float64{7, 1, 1, 1, 4, 1, 1} {
		lags[3*i] = w
	}
	if got, want := deviation(lags), math.Sqrt(5.0/18-25.0/(18*18)+0.25); !near64(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestScore: the deviance of 41 hits where 5 are expected is 2(41 log(41/5) - 36), and the odds
// ratio of 41 and 2 outliers, 9 and 1948 others is (41.5 * 1948.5) / (2.5 * 9.5).
func TestScore(t *testing.T) {
	tab := &table{targets: 43, all: 43, places: 2000, mean: 43 * 50.0 / 2000}
	if got, want := tab.odds(41, tab.mean), 41.5*1948.5/(2.5*9.5); !near64(got, want) {
		t.Errorf("odds ratio %v, want %v", got, want)
	}
	few := &table{targets: 3, all: 43, places: 2000, mean: 3 * 50.0 / 2000}
	p := Default()
	want := 2 * (41*math.Log(41/tab.mean) - (41 - tab.mean))
	got := tab.score(41, tab.mean, p)
	must.Be(t, near64(got, want), "score", got, "want", want)
	for name, got := range map[string]float64{"fewer than expected": tab.score(1, tab.mean, p),
		"less than 5 % of all": few.score(2, few.mean, p), "odds ratio below 4": tab.score(3, tab.mean, p)} {
		must.Equal(t, got, 0, name, "score")
	}
}
