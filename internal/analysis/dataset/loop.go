package dataset

import "slices"

// Loop is how an execution spent the time from the start of its first iteration to the end of its
// last one, in seconds per iteration. Work that a benchmark does between two iterations is in no
// measured number.
type Loop struct {
	Measured float64 // in iterations
	Outside  float64 // between them, without what krund and its runner need
}

// Bounds of the time between two iterations that is not the benchmark's, in nanoseconds.
const (
	// ownGap is what libkrun and a runner may need: 2 to 3.4 microseconds in seven VMs, without
	// counters.
	ownGap = 50_000
	// ownRead is what reading a counter of one more processor may need.
	ownRead = 10_000
	// longGap is how long the system or a garbage collector may stop the process in one of twenty
	// gaps: 5 milliseconds at most were seen on a busy machine.
	longGap = 20_000_000
)

// LeastShare is the share of the loop below which iterations do not cover it.
const LeastShare = 0.9

// LoopOf returns the loop of an execution from the start stamps and durations of its iterations in
// nanoseconds, of which perCore counters of single processors were read in each gap; nil if there
// are no two iterations, or no stamps.
func LoopOf(starts, walls []int64, perCore int) *Loop {
	n := len(walls)
	if n < 2 || len(starts) != n {
		return nil
	}
	gaps := make([]int64, n-1)
	var measured int64
	for i, wall := range walls {
		measured += max(wall, 0)
		if i > 0 {
			gaps[i-1] = max(0, starts[i]-starts[i-1]-max(walls[i-1], 0)-ownGap-int64(perCore)*ownRead)
		}
	}
	slices.Sort(gaps)
	const oneIn = 20
	var outside int64
	for i, gap := range gaps {
		if i >= len(gaps)-max(1, len(gaps)/oneIn) {
			gap = max(0, gap-longGap)
		}
		outside += gap
	}
	const second = 1e9
	return &Loop{float64(measured) / second / float64(n), float64(outside) / second / float64(n)}
}

// Share is the share of the loop that lies in iterations, from 0 to 1.
func (l *Loop) Share() float64 {
	if l.Outside == 0 {
		return 1
	}
	return l.Measured / (l.Measured + l.Outside)
}

// Uncovered reports whether iterations cover so little of the loop that they may not be the work of
// the benchmark. It is false for an instrumented execution: its runner asks the VM between
// iterations.
func (e *Execution) Uncovered() bool {
	return e.Loop != nil && e.Instrument == "" && e.Loop.Share() < LeastShare
}
