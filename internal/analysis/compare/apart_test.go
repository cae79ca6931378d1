package compare

import (
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// process is a pair of one execution: 8 iterations, and what the process does before and after
// them, in nanoseconds.
func process(before, after, first, wall int64) *dataset.Pair {
	walls := []int64{first, wall, wall, wall, wall, wall, wall, wall}
	starts := make([]int64, len(walls))
	at := before
	for i, wall := range walls {
		starts[i] = at
		at += wall + 2_000
	}
	loop := dataset.LoopOf(starts, walls, 0)
	loop.Within(starts, walls, dataset.Life{Lifetime: at + after, Processor: at + after, Processors: 1})
	return &dataset.Pair{Executions: []dataset.Execution{{Outcome: results.Completed, Loop: loop}}}
}

// TestNotTheSameWork: work that left the measured time gets no verdict, and a faster program does.
func TestNotTheSameWork(t *testing.T) {
	const ms, us = 1_000_000, 1_000
	same := process(100*ms, 10*ms, 50*ms, 50*ms)
	for name, c := range map[string]struct {
		after *dataset.Pair
		want  string
	}{
		"the same":              {same, ""},
		"twice as fast":         {process(100*ms, 10*ms, 25*ms, 25*ms), ""},
		"a JIT, starts slower":  {process(200*ms, 10*ms, 50*ms, 5*ms), ""},
		"a kept result":         {process(100*ms, 10*ms, 50*ms, 500), "as little as"},
		"computed at the start": {process(150*ms, 10*ms, 500, 500), "as little as"},
		"moved to the start":    {process(490*ms, 10*ms, us, us), "as little as"},
		"all work at the start": {process(480*ms, 10*ms, ms, ms), "may have moved out"},
		"deferred to the end":   {process(100*ms, 400*ms, ms, ms), "may have moved out"},
		"a clock at half speed": {process(100*ms, 280*ms, 25*ms, 25*ms),
			"may have moved out"},
	} {
		for _, text := range []string{notTheSameWork(same, c.after), notTheSameWork(c.after, same)} {
			must.Be(t, (text == "") == (c.want == "") && strings.Contains(text, c.want), name, text)
		}
	}
}

// TestBetween: short work that is done between two iterations is in neither the iterations nor in
// the 50 microseconds of each gap that are not the benchmark's.
func TestBetween(t *testing.T) {
	const us = 1e-6
	honest := dataset.Loop{Last: 40 * us, Gap: 3 * us}
	for name, c := range map[string]struct {
		after dataset.Loop
		want  bool
	}{
		"the same":             {honest, false},
		"done between":         {dataset.Loop{Last: 1 * us, Gap: 42 * us}, true},
		"half of it between":   {dataset.Loop{Last: 20 * us, Gap: 23 * us}, true},
		"faster":               {dataset.Loop{Last: 20 * us, Gap: 3 * us}, false},
		"faster, slow runner":  {dataset.Loop{Last: 20 * us, Gap: 7 * us}, false},
		"slower on both sides": {dataset.Loop{Last: 80 * us, Gap: 43 * us}, false},
	} {
		must.Equal(t, between(honest, c.after), c.want, name)
		must.Equal(t, between(c.after, honest), c.want, name)
	}
}

// TestApart: other threads and processes do the work while the iterations are too short for it. A
// program that uses several processors within its iterations does not, nor does a JIT compiler.
func TestApart(t *testing.T) {
	loop := func(iterations, around, processor float64, processors int) dataset.Loop {
		return dataset.Loop{Iterations: iterations, Around: around, Processor: processor,
			Apart: max(0, processor-float64(processors)*iterations)}
	}
	slow, jit := loop(1, 0.05, 1.04, 2), loop(1, 0.3, 1.95, 2)
	for name, c := range map[string]struct {
		slow, fast dataset.Loop
		want       bool
	}{
		"the same":                      {slow, slow, false},
		"before, on two processors":     {slow, loop(0.01, 0.55, 1.05, 2), true},
		"meanwhile, in another process": {slow, loop(0.3, 0.05, 1.05, 2), true},
		"half the time, two processors": {slow, loop(0.5, 0.05, 1.05, 2), false},
		"less work":                     {slow, loop(0.1, 0.05, 0.14, 2), false},
		"a JIT compiler":                {jit, loop(0.2, 0.3, 1.15, 2), false},
		"a JIT compiler, disturbed":     {loop(2, 0.6, 1.95, 2), loop(0.2, 0.3, 1.15, 2), false},
	} {
		text := moved(c.slow, c.fast)
		must.Be(t, (text != "") == c.want && text == "" == (moved(c.fast, c.slow) == ""), name, text)
	}
}

// TestResultsDiffer: what two sides return for the same input of a block must be the same.
func TestResultsDiffer(t *testing.T) {
	side := func(number int, inputs, checksums []int64) *dataset.Pair {
		return &dataset.Pair{Executions: []dataset.Execution{{Outcome: results.Error}, {
			Outcome: results.Completed, Number: number, Inputs: inputs, Results: checksums}}}
	}
	inputs := []int64{4, 5, 6}
	base := side(3, inputs, []int64{40, 50, 60})
	for name, c := range map[string]struct {
		after  *dataset.Pair
		want   string
		proven bool
	}{
		"the same": {side(3, inputs, []int64{40, 50, 60}), "", true},
		"one differs": {side(3, inputs, []int64{40, 51, 60}), "execution 3, iteration 2, for the input 5",
			false},
		"kept":          {side(3, inputs, []int64{40, 40, 40}), "execution 3, iteration 2", false},
		"another seed":  {side(3, []int64{7, 8, 9}, []int64{1, 2, 3}), "", false},
		"another block": {side(4, inputs, []int64{1, 2, 3}), "", false},
		"no input":      {side(3, nil, nil), "takes an input on one side only", false},
		"a missing one": {side(3, inputs, []int64{40, dataset.MissingInt, 60}),
			"iteration 2, run_iter returns a result on one side only", false},
		"fewer iterations":  {side(3, inputs[:1], []int64{40}), "", false},
		"unequal in length": {side(3, inputs, []int64{40, 50}), "", true},
	} {
		why, proven := resultsDiffer(base, c.after)
		must.Be(t, (why == "") == (c.want == "") && strings.Contains(why, c.want) && proven == c.proven, name,
			why, proven)
	}
}

// instrument marks the executions of an arm, or of all keys of the benchmark.
func instrument(d *dataset.Dataset, level string, of func(p *dataset.Pair) bool) {
	for i := range d.Pairs {
		if p := &d.Pairs[i]; of(p) {
			for k := range p.Executions {
				p.Executions[k].Instrument = level
			}
		}
	}
}

// TestInstrumentedApart: an instrumented key is not compared with a clean one, and does not change
// what is found for the others.
func TestInstrumentedApart(t *testing.T) {
	levels := map[string]float64{"a": 0.5, "b": 0.5, "c": 0.5}
	before := side(t, 1, 6, 0.001, levels)
	levels["a"], levels["b"] = 0.6, 0.6
	after := side(t, 2, 6, 0.001, levels)
	isA := func(p *dataset.Pair) bool { return p.Key.Benchmark == "a" }
	instrument(after.Data, "events", isA)
	mixed := mustCompare(t, before, analyzed(t, after.Data), Options{Splits: 20})
	a, b := mixed.Changes[0], mixed.Changes[1]
	if !a.Apart() || a.Verdict != CannotTell || a.Steady != nil || len(a.ExecutionsAfter) != 6 ||
		a.Reason != "before is not instrumented, after instrumented (events), which costs time; measure "+
			"both alike" {
		t.Errorf("%+v", a)
	}
	must.Be(t, !b.Apart() && b.Verdict == Worse && mixed.TestsSteady == 2 && mixed.Counts[CannotTell] == 1, b,
		mixed.Counts)
	instrument(before.Data, "events", isA)
	alike := mustCompare(t, analyzed(t, before.Data), analyzed(t, after.Data), Options{})
	a = alike.Changes[0]
	must.Be(t, !a.Apart() && a.Verdict == Worse && a.InstrumentBefore == "events", a)
	instrument(before.Data, "columns", isA)
	other := mustCompare(t, analyzed(t, before.Data), analyzed(t, after.Data), Options{})
	must.Be(t, other.Changes[0].Apart(), "columns with events", other.Changes[0])
}

// TestInstrumentedArms: arms that nothing else distinguishes have a verdict, the cost of
// instrumenting; other arms have none.
func TestInstrumentedArms(t *testing.T) {
	d := armsOf(t, 12, 1.03, 1)
	instrument(d, "events", func(p *dataset.Pair) bool { return p.Key.Arm == "new" })
	for _, c := range []struct {
		costOf []string
		want   Verdict
	}{{nil, CannotTell}, {[]string{"base"}, Worse}} {
		d.Arms = []dataset.Arm{{Name: "base"}, {Name: "new", CostOf: c.costOf}}
		of := analyzed(t, d)
		base, other := armOf(of, "base"), armOf(of, "new")
		r := mustCompare(t, base, other, Options{Paired: true})
		must.Equal(t, r.Counts[c.want], 3, "cost of", c.costOf, r.Counts, r.Changes[0].Reason)
		warned := len(r.Warnings) == 1 && r.Warnings[0].Code == "instrument_cost"
		must.Equal(t, warned, (c.costOf != nil), "cost of", c.costOf, r.Warnings)
		r = mustCompare(t, other, base, Options{Paired: true})
		must.Equal(t, r.Counts[mirror(c.want)], 3, "cost of", c.costOf, "exchanged", r.Counts)
	}
}
