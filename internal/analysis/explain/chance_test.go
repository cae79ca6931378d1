package explain

import (
	"math"
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/results"
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
		k := several(len(c.at), func(x int) (dataset.Execution, warmup.Execution) {
			e, a := made(400, nil, []int{c.at[x]})
			event(&e, "deopt", "f", c.at[x], 0)
			return e, a
		})
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

// counts adds a column that is value in these iterations, else 0.
func counts(e *dataset.Execution, name string, value int64, at []int) {
	c := dataset.Column{Name: name, Core: dataset.NoCore, Ints: make([]int64, len(e.Starts))}
	for _, i := range at {
		c.Ints[i] = value
	}
	e.Columns = append(e.Columns, c)
}

// TestTimeOfAnOutlier: the outlier at 100 takes 2 ms more than usual, a third is 667 µs. Without
// the 0.7 ms of another task it is as long as 2.3 iterations, and so compared with 3 successive
// ones: those from 139 and 140 on have 0.7 ms, those from 138 and 141 on 0.6 and 0.1.
func TestTimeOfAnOutlier(t *testing.T) {
	e, a := made(300, []int{100}, nil)
	event(&e, "switch", "make", 100, 700_000)
	event(&e, "switch", "make", 120, 600_000)
	event(&e, "switch", "make", 140, 600_000)
	event(&e, "switch", "cron", 141, 100_000)
	counts(&e, "involuntary_switches", 1, []int{100, 120, 140, 141})
	r, problem := newRun(&e, &a, dataset.Wall)
	must.Need(t, r != nil, problem)
	s := eventSource([]*run{r}, Competitor.trait(), "switch", "")[0]
	probe := s.timeTest([]*run{r}).probe([]*run{r}, 0, 0)
	for i, want := range map[int]float64{100: 1, 120: 0, 137: 0, 138: 0, 139: 1, 140: 1, 141: 0, 200: 0} {
		must.Equal(t, probe(0, i), want)
	}
}

// TestOtherTasks: another task had the processor for 1.5 of the 2 ms that six outliers took longer.
// It also ran in 40 others, for 20 µs each: that it ran distinguishes little, how long does.
func TestOtherTasks(t *testing.T) {
	slow := []int{31, 60, 95, 140, 202, 251}
	e, a := made(300, slow, nil)
	for _, i := range slow {
		event(&e, "switch", "make", i, 1_500_000)
	}
	ran := slices.Concat(slow, every(300, 2, 7)[:40])
	for _, i := range ran[len(slow):] {
		event(&e, "switch", "make", i, 20_000)
	}
	counts(&e, "involuntary_switches", 1, ran)
	k := keyOf([]dataset.Execution{e}, []warmup.Execution{a})
	must.Need(t, len(k.Statements) == 1 && k.Outliers.Explained == 6 && k.Statements[0].Cause == Competitor,
		k)
	must.Equal(t, k.Executions[0].Outliers[0].Text, "outlier at 32: 3 times the mean of its segment; "+
		"another task on its processor (`make`) took 1.500 ms of its 3.000 ms")
}

// TestSecondaryIsNoColumn: all deoptimizations come just after their function was first compiled,
// and are a part of compiling it. The count of deoptimizations contains them, and is no evidence
// either.
func TestSecondaryIsNoColumn(t *testing.T) {
	at := []int{40, 90, 150, 230}
	e, a := made(300, nil, at)
	counts(&e, "deopt_count", 1, at)
	for k, i := range at {
		name := string(rune('f' + k))
		event(&e, "compile", name, i-1, 100)
		event(&e, "deopt", name, i, 0)
	}
	k := keyOf([]dataset.Execution{e, e}, []warmup.Execution{a, a})
	must.Be(t, !slices.Contains(k.Sources, "column deopt_count") && slices.Contains(k.Sources,
		"events compile"), k.Sources)
}

// TestWaitingOfSomeExecutions: the records of the first execution have the switches of its thread,
// those of the second, of an older krund, only those of the process, which sleeps in six outliers.
// Other threads of the first one wait in other iterations.
func TestWaitingOfSomeExecutions(t *testing.T) {
	slow := every(300, 10, 50)
	newer, a := made(300, slow, nil)
	older, _ := made(300, slow, nil)
	counts(&newer, "thread_voluntary_switches", 1, slow)
	counts(&newer, "voluntary_switches", 1, every(300, 3, 7))
	counts(&older, "voluntary_switches", 1, slow)
	k := keyOf([]dataset.Execution{newer, older}, []warmup.Execution{a, a})
	must.Need(t, k.Outliers == (Coverage{Total: 12, Explained: 12}), k.Outliers, k.Statements)
	for x, column := range []string{"thread_voluntary_switches", "voluntary_switches"} {
		f := k.Executions[x].Outliers[2]
		s := k.Statements[f.Statement]
		must.Be(t, f.Cause == Sleep && s.Source == "column "+column, "execution", x+1, f, s)
	}
}

// TestAlike: evidence that is the same in all orders of the executions, as where they are alike, is
// not extraordinary in an exchange, however much of it there is, and so hides no other.
func TestAlike(t *testing.T) {
	tab := &table{targets: 20, all: 20, places: 2000, evidence: 10, mean: 1, deviation: 1}
	f := family{share: exchangeAlpha}
	orders := slices.Repeat([]float64{10}, 2000)
	mean, deviation := moments(orders)
	f.add(tab, orders, mean, deviation, Default())
	other := slices.Concat([]float64{10}, slices.Repeat([]float64{1}, 1999))
	mean, deviation = moments(other)
	f.add(tab, other, mean, deviation, Default())
	must.Be(t, f.excess[0] == 0 && shareAbove(f.highest, f.excess[1]) == 1.0/2000, "excess", f.excess,
		"highest", f.highest[:3])
}

// TestDegenerate: few and short executions, equal iterations, floods of events with hostile names
// and times, and events without start stamps have statements and sentences of a bounded size, or
// none.
func TestDegenerate(t *testing.T) {
	kinds := []string{"gc", "compile", "deopt", "switch", "?"}
	hostile := []string{"", "a\x1b[2Jb", strings.Repeat("x", 300), "\xff\xfe", "é`'\"<script>"}
	for _, c := range []struct{ executions, n, events int }{
		{1, 1, 3}, {2, 2, 5}, {5, 3, 9}, {1, 30, 20_000}, {2, 300, 0}, {30, 12, 100},
	} {
		k := several(c.executions, func(x int) (dataset.Execution, warmup.Execution) {
			e, a := made(c.n, every(c.n, 5, 6), nil)
			for k := range c.events {
				e.Events = append(e.Events, results.Event{Kind: kinds[k%len(kinds)],
					Name: hostile[k/5%len(hostile)], TimeNS: int64(k-2) * 7_000, DurationNS: int64(k%3-1) << 40})
			}
			counts(&e, "minor_faults", 1<<62, every(c.n, 0, 1))
			counts(&e, "involuntary_switches", 1, every(c.n, 0, 1))
			if x == 1 {
				e.Starts = nil
			}
			return e, a
		})
		must.Be(t, len(k.Statements) <= mostStatements && len(k.Candidates) <= listed, c, len(k.Statements),
			"statements", len(k.Candidates), "candidates")
		for _, s := range k.Statements {
			must.Be(t, len(s.Text) <= 600, c, s.Text)
		}
	}
}
