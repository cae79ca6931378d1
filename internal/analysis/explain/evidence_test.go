package explain

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

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
	s, _ := eventSource([]*run{r}, Competitor.trait(), "switch", "")
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
	f := k.Executions[0].Outliers[0]
	if want := "outlier at 32: 3 times the mean of its segment; another task on its processor (`make`) " +
		"took 1.500 ms of its 3.000 ms"; f.Text != want {
		t.Errorf("%q", f.Text)
	}
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
	if slices.Contains(k.Sources, "column deopt_count") || !slices.Contains(k.Sources, "events compile") {
		t.Errorf("%q", k.Sources)
	}
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

// TestShifted: all but the wall times moves by 290 of 300 iterations: 10 to 0, and 5 to 295.
func TestShifted(t *testing.T) {
	e, _ := made(300, []int{5}, nil)
	counts(&e, "minor_faults", 7, []int{5, 10})
	event(&e, "gc", "", 5, 100)
	event(&e, "gc", "", 10, 100)
	moved := shifted(&e, 290)
	faults, _ := moved.Column("minor_faults", dataset.NoCore)
	wall, _ := moved.Column(dataset.Wall, dataset.NoCore)
	if faults.Ints[0] != 7 || faults.Ints[295] != 7 || faults.Ints[5] != 0 || wall.Ints[5] != 3e6 ||
		moved.Events[0].TimeNS != e.Starts[295]+1000 || moved.Events[1].TimeNS != 1000 {
		t.Errorf("%v, %+v", faults.Ints, moved.Events)
	}
	must.Equal(t, e.Events[0].TimeNS, e.Starts[5]+1000, "the execution itself changed")
	for _, by := range []int{-1, 0, 300} {
		same := shifted(&e, by)
		must.Equal(t, same.Events[0], e.Events[0], "by", by, same.Events)
	}
}

// TestSentencesOfTime: the sentences of the feature Time at outliers.
func TestSentencesOfTime(t *testing.T) {
	got := outlierPhrase(&Candidate{Target: Outliers, Cause: Competitor, Source: "events switch",
		Feature: Time, Name: "make"})
	want := "have other tasks on its processor (`make`) that took a third of their extra time or more"
	must.Be(t, got == want && !strings.Contains(got, "  "), got)
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
		var executions []dataset.Execution
		var analyses []warmup.Execution
		for x := range c.executions {
			e, a := made(c.n, every(c.n, 5, 6), nil)
			e.Number, a.Number = x+1, x+1
			for k := range c.events {
				e.Events = append(e.Events, results.Event{Kind: kinds[k%len(kinds)],
					Name: hostile[k/5%len(hostile)], TimeNS: int64(k-2) * 7_000, DurationNS: int64(k%3-1) << 40})
			}
			counts(&e, "minor_faults", 1<<62, every(c.n, 0, 1))
			counts(&e, "involuntary_switches", 1, every(c.n, 0, 1))
			if x == 1 {
				e.Starts = nil
			}
			executions, analyses = append(executions, e), append(analyses, a)
		}
		k := keyOf(executions, analyses)
		must.Be(t, len(k.Statements) <= mostStatements && len(k.Candidates) <= listed, c, len(k.Statements),
			"statements", len(k.Candidates), "candidates")
		for _, s := range k.Statements {
			must.Be(t, len(s.Text) <= 600, c, s.Text)
		}
	}
}
