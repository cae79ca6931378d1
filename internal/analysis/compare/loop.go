package compare

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// loopOf returns the medians over the executions of a key; ok is false if no execution has a loop.
func loopOf(pair *dataset.Pair) (l dataset.Loop, ok bool) {
	var measured, outside []float64
	for i := range pair.Executions {
		if e := &pair.Executions[i]; e.Outcome == results.Completed && e.Loop != nil && e.Instrument == "" {
			measured, outside = append(measured, e.Loop.Measured), append(outside, e.Loop.Outside)
		}
	}
	if len(measured) == 0 {
		return l, false
	}
	slices.Sort(measured)
	slices.Sort(outside)
	return dataset.Loop{Measured: arith.Median(measured), Outside: arith.Median(outside)}, true
}

// loopsDiffer returns why the iterations of two sides are not the same work; "" if they may be. A
// program that waits between its iterations does so on both sides. One that does its work there is
// as much faster inside as it is slower outside: the time outside differs by more than a tenth of
// the iterations of the slower side.
func loopsDiffer(before, after *dataset.Pair) string {
	const relevant = 0.1
	a, known := loopOf(before)
	b, known2 := loopOf(after)
	if !known || !known2 || min(a.Share(), b.Share()) >= dataset.LeastShare ||
		math.Abs(a.Outside-b.Outside) <= relevant*max(a.Measured, b.Measured) {
		return ""
	}
	return fmt.Sprintf("the iterations cover %s of the loop before and %s after: %.2g and %.2g s of each "+
		"lie outside of the measured time; measure the same work on both sides", Percent(a.Share()),
		Percent(b.Share()), a.Outside, b.Outside)
}
