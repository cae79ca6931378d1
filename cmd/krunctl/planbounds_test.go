package main

import (
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// stoppingText is an experiment that ends keys and executions early: 4 keys of 6 executions, of
// which 3 are needed at least, and 40 iterations, of which 2 to 8 steps of 4 are needed.
var stoppingText = strings.NewReplacer("executions = 2", "executions = 6\nseed = 5", "iterations = 4",
	"iterations = 40", "iterations = 3\n", "").Replace(experimentText) + `
[stop]
rules = ["halfwidth"]
halfwidth = 0.05
[stop.iterations]
criterion = "cv"
step = "4"
warmup_min = 5
warmup_max = 6
measure = 2
`

// TestStatusOfStoppedIterations: status has what was saved, and what is left.
func TestStatusOfStoppedIterations(t *testing.T) {
	b := newExperimentOf(t, stoppingText)
	slot, err := b.sched.Begin()
	b.must(err)
	r := b.record(slot, results.Completed)
	r.WallNS, r.StartNS, r.Columns = r.WallNS[:28], r.StartNS[:28], nil
	b.append(r)
	b.must(b.sched.Finish(slot, 'C'))
	text := krunctl(t, "status", b.dir()).stdout
	for _, want := range []string{"\nreboots      none\n",
		"the last 1 execution ran 28 of 40 iterations (stop.iterations)",
		"left         11 to 23 executions"} {
		must.Contain(t, text, want)
	}
}
