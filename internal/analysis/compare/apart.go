package compare

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// Apart reports whether the key has no verdict because its two sides are instrumented differently,
// do not measure the same part of their loops, or were measured at different times.
func (c *Change) Apart() bool { return c.apart }

// withhold makes c the change of a key whose sides cannot be compared.
func (c *Change) withhold(r row, why string) {
	c.apart = true
	c.ExecutionsBefore, c.ExecutionsAfter = executions(r.before), executions(r.after)
	c.Verdict, c.Reason = CannotTell, why
}

// instrumentsDiffer returns why differently instrumented sides cannot be compared.
func (c *Change) instrumentsDiffer() string {
	return fmt.Sprintf("before is %s, after %s, which costs time; measure both alike",
		dataset.InstrumentText(c.InstrumentBefore), dataset.InstrumentText(c.InstrumentAfter))
}

// costs reports whether the sides are arms that only the level of instrumentation distinguishes.
func costs(before, after Side) bool {
	return armsSay(before, after, func(arm dataset.Arm) []string { return arm.CostOf })
}

// armsSay reports whether the sides are arms of which one lists the other.
func armsSay(before, after Side, list func(dataset.Arm) []string) bool {
	return before.Data == after.Data && slices.ContainsFunc(before.Data.Arms, func(arm dataset.Arm) bool {
		return arm.Name == before.Arm && slices.Contains(list(arm), after.Arm) ||
			arm.Name == after.Arm && slices.Contains(list(arm), before.Arm)
	})
}

// instrumented warns that the effects are those of instrumenting.
func (r *Result) instrumented(before, after Side) {
	if costs(before, after) {
		r.warn("instrument_cost", "nothing but their instrumentation distinguishes the arms %s and %s: the "+
			"effect is what that costs", before.Arm, after.Arm)
	}
}

// loopOf returns the medians over the executions of a key; ok is false if no execution has a loop.
func loopOf(pair *dataset.Pair) (l dataset.Loop, ok bool) {
	var all []*dataset.Loop
	for i := range pair.Executions {
		if e := &pair.Executions[i]; e.Outcome == results.Completed && e.Loop != nil && e.Instrument == "" {
			all = append(all, e.Loop)
		}
	}
	if len(all) == 0 {
		return l, false
	}
	median := func(of func(*dataset.Loop) float64) float64 {
		values := make([]float64, len(all))
		for i, l := range all {
			values[i] = of(l)
		}
		return arith.MedianOf(values)
	}
	return dataset.Loop{
		Measured:   median(func(l *dataset.Loop) float64 { return l.Measured }),
		Outside:    median(func(l *dataset.Loop) float64 { return l.Outside }),
		Gap:        median(func(l *dataset.Loop) float64 { return l.Gap }),
		Iterations: median(func(l *dataset.Loop) float64 { return l.Iterations }),
		Around:     median(func(l *dataset.Loop) float64 { return l.Around }),
		After:      median(func(l *dataset.Loop) float64 { return l.After }),
		Processor:  median(func(l *dataset.Loop) float64 { return l.Processor }),
		Apart:      median(func(l *dataset.Loop) float64 { return l.Apart }),
		Last:       median(func(l *dataset.Loop) float64 { return l.Last }),
	}, true
}

// notTheSameWork returns why no verdict can be given on two sides; "" if one can.
func notTheSameWork(before, after *dataset.Pair) string {
	why, proven := resultsDiffer(before, after)
	if why != "" {
		return why
	}
	return loopsDiffer(before, after, proven)
}

// resultsDiffer returns the first iteration of two executions with the same number whose input is
// the same on both sides and whose result is not, as a sentence; "" without one. proven is whether
// there are results for several inputs, and all of them are the same.
func resultsDiffer(before, after *dataset.Pair) (why string, proven bool) {
	numbered := map[int]*dataset.Execution{}
	for i := range after.Executions {
		if e := &after.Executions[i]; e.Outcome == results.Completed {
			numbered[e.Number] = e
		}
	}
	distinct := map[int64]bool{}
	for i := range before.Executions {
		e := &before.Executions[i]
		other := numbered[e.Number]
		if e.Outcome != results.Completed || other == nil {
			continue
		}
		if (len(e.Inputs) == 0) != (len(other.Inputs) == 0) && before.Key.VM == after.Key.VM {
			return "run_iter takes an input on one side only, so nothing shows that the two compute the same",
				false
		}
		n := min(len(e.Inputs), len(e.Results), len(other.Inputs), len(other.Results))
		for k := range n {
			a, b := e.Results[k], other.Results[k]
			if e.Inputs[k] != other.Inputs[k] {
				continue
			}
			if (a == dataset.MissingInt) != (b == dataset.MissingInt) {
				return fmt.Sprintf("in execution %d, iteration %d, run_iter returns a result on one side "+
					"only, so nothing shows that the two compute the same", e.Number, k+1), false
			}
			if a == dataset.MissingInt {
				continue
			}
			if distinct[a] = true; a != b {
				return fmt.Sprintf("the results differ, first in execution %d, iteration %d, for the input "+
					"%d: their checksums are %d before and %d after; the two do not compute the same",
					e.Number, k+1, e.Inputs[k], a, b), false
			}
		}
	}
	return "", len(distinct) > 1
}

// loopsDiffer returns why the iterations of two sides are not the same work; "" if they may be. A
// program that waits between its iterations does so on both sides. One that does its work there is
// as much faster inside as it is slower outside: the time outside differs by more than a tenth of
// the iterations of the slower side. proven is whether the results of both sides are the same for
// several inputs: cheap iterations are then work.
func loopsDiffer(before, after *dataset.Pair, proven bool) string {
	const relevant = 0.1
	a, known := loopOf(before)
	b, known2 := loopOf(after)
	if !known || !known2 {
		return ""
	}
	if !proven && (a.Cheaper(&b) || b.Cheaper(&a)) {
		return fmt.Sprintf("an iteration takes %.2g s before and %.2g s after, as little as a function "+
			"that returns a kept result; let run_iter compute its result in each iteration", a.Last, b.Last)
	}
	if min(a.Share(), b.Share()) < dataset.LeastShare &&
		math.Abs(a.Outside-b.Outside) > relevant*max(a.Measured, b.Measured) {
		return fmt.Sprintf("the iterations cover %s of the loop before and %s after: %.2g and %.2g s of "+
			"each lie outside of the measured time; measure the same work on both sides", Percent(a.Share()),
			Percent(b.Share()), a.Outside, b.Outside)
	}
	if between(a, b) {
		return fmt.Sprintf("an iteration takes %.2g s before and %.2g s after, and the time between two of "+
			"them %.2g and %.2g s: work may have moved out of the measured time", a.Last, b.Last,
			a.Gap, b.Gap)
	}
	return moved(a, b)
}

// between reports whether at least half of what one side saves in an iteration is added to each gap
// between two: by more than what runners differ in, and less than what Share leaves to each gap.
func between(a, b dataset.Loop) bool {
	const relevant, least, most = 0.1, 5e-6, 0.5 // of the iteration; seconds; of what is saved
	saved, added := a.Last-b.Last, b.Gap-a.Gap
	if saved < 0 {
		saved, added = -saved, -added
	}
	return saved > relevant*max(a.Last, b.Last) && added > max(least, most*saved)
}

// moved returns why work may have moved out of the loop, to the start or the end of the process, or
// to other threads and processes; "" if it has not. What is saved in all iterations together is
// then lost around them, more than what the start of a process varies by, or half of that after
// them, where an honest program has nothing to do; or it is processor time that the iterations of
// the faster side are too short for, and that the other side does not use beside its own.
func moved(a, b dataset.Loop) string {
	const relevant, least, most = 0.1, 0.1, 0.8 // of the iterations; seconds; of what is saved
	if a.Around == 0 || b.Around == 0 {
		return ""
	}
	slow, fast := a, b
	if a.Iterations < b.Iterations {
		slow, fast = b, a
	}
	saved := slow.Iterations - fast.Iterations
	lost, late := fast.Around-slow.Around, fast.After-slow.After
	apart := fast.Apart - max(slow.Around, slow.Processor-slow.Iterations)
	switch {
	case saved <= relevant*slow.Iterations:
		return ""
	case lost > max(least, most*saved) || late > max(least, most/2*saved):
	case apart <= max(least, most/2*saved):
		return ""
	default:
		return fmt.Sprintf("all iterations of a process take %.2g s before and %.2g s after, and %.2g and "+
			"%.2g s of a processor: work may have moved out of the measured time", a.Iterations, b.Iterations,
			a.Processor, b.Processor)
	}
	return fmt.Sprintf("all iterations of a process take %.2g s before and %.2g s after, and what it does "+
		"before and after them %.2g and %.2g s: work may have moved out of the measured time", a.Iterations,
		b.Iterations, a.Around, b.Around)
}
