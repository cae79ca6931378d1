package compare

import (
	"strings"
	"testing"

	"krund/internal/analysis/dataset"
	"krund/rig/must"
)

// withLoop gives the executions of a benchmark a time outside of their iterations.
func withLoop(d *dataset.Dataset, benchmark string, measured, outside float64) {
	for i := range d.Pairs {
		for k := range d.Pairs[i].Executions {
			if d.Pairs[i].Key.Benchmark == benchmark {
				d.Pairs[i].Executions[k].Loop = &dataset.Loop{Measured: measured, Outside: outside}
			}
		}
	}
}

// TestMovedWork: a side that does its work between its iterations is not 6,647 times as fast; one
// that waits there on both sides, or needs the same time there, has a verdict.
func TestMovedWork(t *testing.T) {
	before := side(t, 1, 6, 0.001, map[string]float64{"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5})
	after := side(t, 2, 6, 0.001, map[string]float64{"a": 0.0001, "b": 0.25, "c": 0.25, "d": 0.25})
	withLoop(before.Data, "a", 0.5, 0)
	withLoop(after.Data, "a", 0.0001, 0.5)
	withLoop(before.Data, "b", 0.5, 0.5) // a wait that the user wanted
	withLoop(after.Data, "b", 0.25, 0.51)
	withLoop(before.Data, "c", 0.5, 0.01) // covered on both sides
	withLoop(after.Data, "c", 0.25, 0.02)
	withLoop(before.Data, "d", 0.5, 0) // half of the work was moved
	withLoop(after.Data, "d", 0.25, 0.25)
	r := mustCompare(t, analyzed(t, before.Data), analyzed(t, after.Data), Options{})
	for i, want := range []Verdict{CannotTell, Better, Better, CannotTell} {
		c := r.Changes[i]
		must.Be(t, c.Verdict == want && c.Apart() == (want == CannotTell), c.Key, c.Verdict, c.Reason)
	}
	if why := r.Changes[0].Reason; !strings.HasPrefix(why,
		"the iterations cover 100 % of the loop before and 0.02 % after: 0 and 0.5 s of each lie outside") {
		t.Error(why)
	}
	var said []string
	for _, w := range analyzed(t, after.Data).Doc.Pairs[0].Warnings {
		if w.Code == "loop_share" {
			said = append(said, w.Text)
		}
	}
	must.Be(t, len(said) == 1 && strings.HasPrefix(said[0], "in 6 of 6 executions the iterations cover less"),
		said)
}
