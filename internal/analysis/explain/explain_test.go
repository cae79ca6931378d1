package explain

import (
	"encoding/json"
	"io/fs"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// made is an execution of n iterations of 1 ms with an analysis: outliers of 3 ms, and after each
// changepoint (the index of the first iteration of a segment) iterations are 10 % slower.
func made(n int, outliers, changes []int) (dataset.Execution, warmup.Execution) {
	e := dataset.Execution{Number: 1, Outcome: results.Completed, Instrument: "events"}
	a := warmup.Execution{Number: 1, Status: warmup.Analysed, Iterations: n, Window: n / 10,
		Outliers: outliers,
		Steady:   &warmup.Steady{Iteration: 1}}
	wall, at, length := make([]int64, n), int64(0), 1e6
	start := 0
	for i := range wall {
		if slices.Contains(changes, i) {
			a.Changepoints = append(a.Changepoints, i-1)
			a.Segments = append(a.Segments, warmup.Segment{Start: start, End: i, Mean: length / 1e9})
			start, length = i, length*1.1
			a.Steady.Iteration = i + 1
		}
		wall[i] = int64(length)
		if slices.Contains(outliers, i) {
			wall[i] = int64(3 * length)
		}
		e.Starts = append(e.Starts, at)
		at += wall[i]
	}
	a.Segments = append(a.Segments, warmup.Segment{Start: start, End: n, Mean: length / 1e9})
	e.Columns = []dataset.Column{{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore,
		Ints: wall}}
	return e, a
}

// several explains executions that one makes, by their numbers from 0.
func several(n int, one func(x int) (dataset.Execution, warmup.Execution)) Key {
	var executions []dataset.Execution
	var analyses []warmup.Execution
	for x := range n {
		e, a := one(x)
		e.Number, a.Number = x+1, x+1
		executions, analyses = append(executions, e), append(analyses, a)
	}
	return keyOf(executions, analyses)
}

// keyOf explains executions.
func keyOf(e []dataset.Execution, a []warmup.Execution) Key {
	return OfKey(&dataset.Pair{Executions: e}, &warmup.Pair{Key: "b:V:v", Executions: a}, dataset.Wall,
		Default())
}

func every(n, first, step int) []int {
	var at []int
	for i := first; i < n; i += step {
		at = append(at, i)
	}
	return at
}

// TestRecurringCause: a garbage collection in every 50th iteration. Of the 201 lags only 0 matches
// all six outliers, because that at 10 is shifted by a tenth of the others; one or several equal
// executions give p = 1/201. By chance there are 33/201 hits: those at 110 and 160 hit with 5 lags,
// those at 210 and 260 with 4 (beyond the end the series is reflected), that at 60 with 4 (-1, 0,
// 83 and 84, which move it by 0 and 50), that at 10 with 11 (-6 to 4, which do not move it). In all
// 300 iterations that is 33/201/6 * 300 with a collection, 6 of them outliers.
func TestRecurringCause(t *testing.T) {
	slow := every(300, 10, 50)
	e, a := made(300, slow, nil)
	for _, i := range slow {
		event(&e, "gc", "full", i, 2_000_000)
	}
	k := keyOf([]dataset.Execution{e}, []warmup.Execution{a})
	must.Need(t, len(k.Statements) == 1, k)
	s := k.Statements[0]
	others := 33.0/201*50 - 6
	for _, c := range [][2]float64{{s.Expected, 33.0 / 201}, {s.Explained, 1 - 33.0/201/6}, {s.P, 1.0 / 201},
		{s.OddsRatio, 6.5 * (294.5 - others) / (0.5 * (0.5 + others))}, {s.Corrected, 1.0 / 201},
		{s.Smallest, 1.0 / 201}} {
		must.Be(t, near64(c[0], c[1]), c, s)
	}
	must.Be(t, s.Hits == 6 && s.Cause == GC && s.Target == Outliers && s.Feature == Present, s.Candidate)
	must.Be(t, s.Time != nil && near64(*s.Time, 1), "time", s.Time)
	must.Equal(t, s.Text, "6 of 6 outliers contain a garbage collection; without them the series has none")
	f := k.Executions[0].Outliers[1]
	must.Equal(t, f.Text, "outlier at 61: 3 times the mean of its segment; a garbage collection (`full`) took "+
		"2.000 ms of its 3.000 ms")
	must.Be(t, f.Cause == GC && f.Iteration == 60, f)
	must.Equal(t, k.Outliers, (Coverage{Total: 6, Explained: 6}))
	second := e
	second.Number = 2
	k = keyOf([]dataset.Execution{e, second}, []warmup.Execution{a, a})
	if s := k.Statements[0]; !near64(s.Smallest, 1.0/201) || !near64(s.Corrected, 1.0/201) ||
		!strings.HasSuffix(s.Text, "without them the 2 executions have none") {
		t.Errorf("two executions: %+v", s)
	}
}

func near64(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// TestTooShortCollections: collections in all slow iterations that took 1 % of their extra time are
// no cause.
func TestTooShortCollections(t *testing.T) {
	slow := every(300, 10, 50)
	e, a := made(300, slow, nil)
	for _, i := range slow {
		event(&e, "gc", "", i, 20_000)
	}
	k := keyOf([]dataset.Execution{e, e}, []warmup.Execution{a, a})
	must.Be(t, len(k.Statements) == 0 && k.Outliers.Explained == 0, k)
	must.Equal(t, k.Executions[0].Outliers[0].Text, "outlier at 11: 3 times the mean of its segment; no "+
		"cause is established")
}

// TestLastCompilation: in each of three executions the last compilation of run_iter ends just
// before the changepoint; there are others earlier.
func TestLastCompilation(t *testing.T) {
	k := several(3, func(x int) (dataset.Execution, warmup.Execution) {
		at := []int{117, 143, 188}[x]
		e, a := made(400, nil, []int{at})
		for i := range 20 {
			event(&e, "compile", "other", 3*i, 100_000)
		}
		event(&e, "compile", "run_iter", at-1, 500_000)
		return e, a
	})
	must.Need(t, len(k.Statements) == 1 && k.Statements[0].Cause == Compile && k.Changepoints.Explained == 3,
		k)
	f := k.Executions[0].Changepoints[0]
	must.Equal(t, f.Text, "changepoint at 118: iterations become 10 % slower; a compilation of `run_iter` "+
		"ended in iteration 117, the last of all")
	st := k.Executions[0].Steady
	want := "statistically steady from iteration 118; the VM: last compilation in iteration 117"
	must.Be(t, st.Text == want && *st.LastCompile == 116 && st.Compiles == 0 && len(st.Warnings) == 0, st)
}

// TestLevelOfAColumn: page faults rise from about 2 to 52 per iteration at the changepoint.
func TestLevelOfAColumn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	k := several(3, func(x int) (dataset.Execution, warmup.Execution) {
		at := []int{120, 200, 260}[x]
		e, a := made(400, nil, []int{at})
		e.Instrument = ""
		faults := make([]int64, 400)
		for i := range faults {
			faults[i] = 1 + int64(random.IntN(3))
			if i >= at {
				faults[i] += 50
			}
		}
		e.Columns = append(e.Columns, dataset.Column{Name: "minor_faults", Core: dataset.NoCore,
			Ints: faults})
		return e, a
	})
	must.Need(t, len(k.Statements) == 1 && k.Statements[0].Cause == Faults &&
		k.Statements[0].Feature == Shift, k)
	must.Equal(t, k.Statements[0].Text, "3 of 3 changepoints come with a change of the level of page faults "+
		"(column minor_faults)")
	if f := k.Executions[1].Changepoints[0]; !strings.Contains(f.Text,
		"; minor_faults per iteration rises from 1.9") || !strings.Contains(f.Text, " to 5") {
		t.Errorf("%q", f.Text)
	}
	// evidence that was not recorded is named, with a remedy
	must.Be(t, len(k.Missing) == 2 && strings.Contains(k.Missing[0], `instrument = "events"`) &&
		strings.Contains(k.Missing[1], "instructions"), k.Missing)
	st := k.Executions[0].Steady
	must.Be(t, strings.HasSuffix(st.Text, "the VM has not reported any compilation"), st)
}

// TestFrequency: the governor lowers the frequency by a fifth at the changepoint. MPERF counts at a
// constant rate, APERF and the cycles with the frequency, so that per iteration only MPERF grows.
// The cause is also found in the other direction.
func TestFrequency(t *testing.T) {
	for _, factor := range []float64{1.25, 0.8} {
		random := rand.New(rand.NewPCG(3, 4))
		k := several(3, func(x int) (dataset.Execution, warmup.Execution) {
			at := []int{120, 200, 260}[x]
			e, a := made(400, nil, []int{at})
			e.Instrument = ""
			a.Segments[1].Mean = factor * a.Segments[0].Mean
			mperf := level(random, 400, 2e6, 0.002)
			for i := at; i < 400; i++ {
				mperf[i] = int64(factor * float64(mperf[i]))
			}
			columns := []string{dataset.APERF, dataset.CoreCycles, "instructions", dataset.MPERF}
			for c, values := range [][]int64{level(random, 400, 2e6, 0.002), level(random, 400, 2e6, 0.002),
				level(random, 400, 3e6, 0.002), mperf} {
				e.Columns = append(e.Columns, dataset.Column{Name: columns[c], Core: 3, Ints: values})
			}
			return e, a
		})
		if len(k.Statements) != 1 || k.Statements[0].Cause != Frequency || k.Changepoints.Explained != 3 ||
			k.Statements[0].Text != "3 of 3 changepoints come with a change of frequency" {
			t.Errorf("%v times as long: %+v, %+v", factor, k.Statements, k.Candidates)
		}
	}
}

// TestTicks: from the changepoint on the tick goes on where it had stopped, which explains it; at a
// constant rate a longer iteration has more ticks, which explains neither it nor outliers.
func TestTicks(t *testing.T) {
	for stopped, want := range map[bool]string{
		true: "3 of 3 changepoints come with a change of the level of interrupts " +
			"(column timer_interrupts/wall)",
		false: "",
	} {
		random := rand.New(rand.NewPCG(3, 5))
		k := several(3, func(x int) (dataset.Execution, warmup.Execution) {
			at := []int{120, 200, 260}[x]
			e, a := made(400, []int{50, 90, 310}, []int{at})
			e.Instrument = ""
			ticks := make([]int64, 400)
			for i, wall := range e.Columns[0].Ints {
				expected := float64(wall) / 1e6 // 1000 Hz
				if !stopped || i >= at {
					ticks[i] = int64(expected + random.Float64())
				}
			}
			e.Columns = append(e.Columns, dataset.Column{Name: "timer_interrupts", Core: dataset.NoCore,
				Ints: ticks})
			return e, a
		})
		got := ""
		for _, s := range k.Statements {
			got += s.Text
		}
		must.Equal(t, got, want, stopped, k.Candidates)
	}
}

// TestSteadyDisagrees: what the VM still did in the steady state.
func TestSteadyDisagrees(t *testing.T) {
	e, a := made(200, nil, []int{100})
	for i := 100; i < 200; i++ {
		event(&e, "deopt", "f", i, 0)
	}
	event(&e, "compile", "g", 199, 1<<30)
	event(&e, "code", "full", 150, 0)
	k := keyOf([]dataset.Execution{e}, []warmup.Execution{a})
	want := []string{"a compilation (`g`) was still running at the end",
		"100 of the 100 steady iterations have a deoptimization",
		"compiled code was discarded in iteration 151 of the steady state"}
	if got := k.Executions[0].Steady; !reflect.DeepEqual(got.Warnings, want) || got.Deopts != 100 ||
		*got.LastDeopt != 199 || *got.LastCode != 150 || *got.From != 100 {
		t.Errorf("%+v", got)
	}
}

// TestEventsAndIterations: which iterations an event belongs to. Iteration i is [10i, 10i+8].
func TestEventsAndIterations(t *testing.T) {
	r := &run{n: 4, starts: []int64{0, 10, 20, 30}, ends: []int64{8, 18, 28, 38}}
	for _, c := range []struct {
		name                string
		time, duration      int64
		first, after, ended int
	}{
		{"inside", 12, 3, 1, 2, 1},
		{"an instant", 12, 0, 1, 2, 1},
		{"between two", 18 + 1, 0, 2, 2, 1},
		{"over three", 5, 20, 0, 3, 2},
		{"before the first", -5, 2, 0, 0, -1},
		{"into the first", -5, 7, 0, 1, 0},
		{"after the last", 50, 5, 4, 4, 3},
		{"beyond the last", 35, 50, 3, 4, 3},
		{"a negative duration", 12, -100, 1, 2, 1},
	} {
		ev := &results.Event{TimeNS: c.time, DurationNS: c.duration}
		if first, after := r.during(ev); first != c.first || after != c.after || r.ended(ev) != c.ended {
			t.Errorf("%s: [%d,%d), ended in %d; want [%d,%d), %d", c.name, first, after, r.ended(ev), c.first,
				c.after, c.ended)
		}
	}
}

// TestEffect: an event in the first half of an iteration can change this one, a later one the next.
// Iteration 1 is [10, 18].
func TestEffect(t *testing.T) {
	r := &run{n: 3, starts: []int64{0, 10, 20}, ends: []int64{8, 18, 28}}
	for _, c := range []struct {
		kind           string
		time, duration int64
		want           uint8
	}{
		{"deopt", 13, 0, thisOne}, {"deopt", 14, 0, nextOne}, {"gc", 11, 100, thisOne},
		{"compile", 5, 8, thisOne | nextOne}, {"compile", 12, 4, nextOne},
	} {
		ev := &results.Event{Kind: c.kind, TimeNS: c.time, DurationNS: c.duration}
		must.Equal(t, r.effect(ev, 1), c.want)
	}
}

// TestInjectedAndShifted: 3 executions of each injected cause are explained by it; with evidence
// that was shifted at random few keys get any explanation. `make explain-bench` measures both.
func TestInjectedAndShifted(t *testing.T) {
	v := nature{n: 300, executions: 3, odd: 0.005}
	any, cases := 0, 0
	for i := range injections {
		in := &injections[i]
		g := v.generate(rand.New(rand.NewPCG(7, uint64(i))), in)
		k := g.explained(Default())
		s := g.score(&k, in)
		must.Be(t, s.found >= 3 && 3*s.right >= 2*s.found && s.wrong <= 0, in.cause, "of", in.target, s,
			k.Statements)
		for c := range 5 {
			random := rand.New(rand.NewPCG(8, uint64(100*i+c)))
			g := v.generate(random, in)
			g.shifted(random)
			k := g.explained(Default())
			cases++
			if len(k.Statements) > 0 {
				any++
			}
		}
	}
	if any > 6 { // of 40; P(more than 6) is 0.3 % with a rate of 5 %
		t.Errorf("%d of %d keys with shifted evidence were explained", any, cases)
	}
}

// TestDocument: no list is null, and the number of workers changes nothing. An execution that
// cannot be read is an error.
func TestDocument(t *testing.T) {
	e, a := made(300, every(300, 10, 50), nil)
	failed := warmup.Pair{Key: "::", Executions: []warmup.Execution{{Status: warmup.NotCompleted}}}
	doc := &warmup.Document{Parameters: warmup.Parameters{Column: dataset.Wall},
		Pairs: []warmup.Pair{{Executions: []warmup.Execution{a}}, failed}}
	series := func(pair, _ int) (dataset.Execution, error) {
		return []dataset.Execution{e, {}}[pair], nil
	}
	one, err := Explain(dataset.Info{}, doc, Default(), 1, series)
	four, err4 := Explain(dataset.Info{}, doc, Default(), 4, series)
	must.Be(t, err == nil && err4 == nil && reflect.DeepEqual(one, four), "workers change the result", err,
		err4)
	gone := func(pair, _ int) (dataset.Execution, error) { return e, []error{nil, fs.ErrNotExist}[pair] }
	_, err = Explain(dataset.Info{}, doc, Default(), 1, gone)
	must.Fail(t, err, fs.ErrNotExist, "error")
	text, err := json.Marshal(one)
	lists := regexp.MustCompile(`"(keys|problems|sources|missing|statements|candidates|outliers|changepoints|` +
		`executions|warnings|evidence|with)":null`)
	must.Be(t, err == nil && !lists.Match(text), err, text)
	w := one.Keys[1].Warnings
	must.Be(t, len(w) == 1 && w[0] == "no execution was analyzed" && len(one.Keys[1].LeftOut) == 1, w)
}

// shifted returns an execution whose wall times are those of e, and whose evidence (all other
// columns, and the events) is moved by so many iterations, from 0 to their number less 1, around
// the end of the series. Nothing of the evidence has to do with the series then, unless both recur:
// a control of the error rate. Executions with columns of other lengths, or whose times are
// unknown, are returned as they are.
func shifted(e *dataset.Execution, by int) dataset.Execution {
	n := len(e.Starts)
	moved := *e
	if by <= 0 || by >= n {
		return moved
	}
	moved.Columns, moved.Events = nil, nil
	for _, c := range e.Columns {
		if c.Len() != n {
			return *e
		}
		if c.Name != dataset.Wall {
			c.Reals, c.Ints, c.Counts = rotated(c.Reals, by), rotated(c.Ints, by), rotated(c.Counts, by)
		}
		moved.Columns = append(moved.Columns, c)
	}
	for _, ev := range e.Events {
		i := max(0, sort.Search(n, func(i int) bool { return e.Starts[i] > ev.TimeNS })-1)
		ev.TimeNS += e.Starts[(i+by)%n] - e.Starts[i]
		moved.Events = append(moved.Events, ev)
	}
	return moved
}

// rotated returns the values moved by so many places, the last ones to the start.
func rotated[T any](values []T, by int) []T {
	from := max(0, len(values)-by)
	return slices.Concat(values[from:], values[:from])
}

// TestTime: from iteration 200 of 400 on iterations take 1.1 ms instead of 1, and garbage
// collections 50 µs in each of them instead of 10: 40 % of the change. With 30 µs it is 20 %, which
// is less than a third, and no cause.
func TestTime(t *testing.T) {
	for after, established := range map[int64]bool{50_000: true, 30_000: false} {
		e, a := made(400, []int{100}, []int{200})
		spent := make([]int64, 400)
		for i := range spent {
			spent[i] = 10_000
			if i >= 200 {
				spent[i] = after
			}
			event(&e, "gc", "minor", i, spent[i])
		}
		spent[100] = 1_000_000 // in an outlier, which the mean of its segment leaves out
		e.Columns = append(e.Columns, dataset.Column{Name: "gc_time", Unit: dataset.Nanoseconds,
			Core: dataset.NoCore, Ints: spent})
		k := keyOf([]dataset.Execution{e}, []warmup.Execution{a})
		f := k.Executions[0].Changepoints[0]
		must.Be(t, (f.Cause == GC) == established, after, "ns", f, k.Candidates)
		want := "garbage collections took 10.00 µs per iteration before and 50.00 µs after"
		must.Be(t, !established || strings.HasSuffix(f.Text, want), f.Text)
	}
}
