package dataset

import (
	"fmt"
	"slices"
)

// Loop is how an execution spent the time from the start of its first iteration to the end of its
// last one, in seconds per iteration. Work that a benchmark does between two iterations is in no
// measured number.
type Loop struct {
	Measured float64 // in iterations
	Outside  float64 // between them, without what krund and its runner need
	Gap      float64 // median of the time between two of them, with all that is in it

	// The rest is of the whole process, in seconds.
	Iterations float64 // all of them together
	Around     float64 // before the first, without the VM's start, and after the last one; 0: unknown
	After      float64 // of that, after the last one
	Processor  float64 // processor time of all that ran, after the VM's start
	Apart      float64 // of that, what cannot have been in iterations, on all processors together
	First      float64 // the first iteration
	Last       float64 // median of the last half of the iterations
}

// Bounds of iterations that do no work any more, in seconds.
const (
	// trivial is more than any runner needs to call a function that returns a kept value.
	trivial = 5e-6
	// worked is a first iteration that is more than the start of a VM's compiler, or a page fault.
	worked = 10e-3
	// keptRatio is more than a JIT compiler makes a program faster.
	keptRatio = 2000
	// longAfter is more than a VM needs to end.
	longAfter = 1
)

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
	gaps, whole := make([]int64, n-1), make([]int64, n-1)
	var measured int64
	for i, wall := range walls {
		measured += max(wall, 0)
		if i > 0 {
			whole[i-1] = max(0, starts[i]-starts[i-1]-max(walls[i-1], 0))
			gaps[i-1] = max(0, whole[i-1]-ownGap-int64(perCore)*ownRead)
		}
	}
	slices.Sort(gaps)
	slices.Sort(whole)
	const oneIn = 20
	var outside int64
	for i, gap := range gaps {
		if i >= len(gaps)-max(1, len(gaps)/oneIn) {
			gap = max(0, gap-longGap)
		}
		outside += gap
	}
	half := slices.Sorted(slices.Values(walls[n/2:]))
	const second = 1e9
	return &Loop{
		Measured: float64(measured) / second / float64(n), Outside: float64(outside) / second / float64(n),
		Gap:        float64(whole[len(whole)/2]) / second,
		Iterations: float64(measured) / second, First: float64(walls[0]) / second,
		Last: float64(half[len(half)/2]) / second,
	}
}

// Life is that of a process, in nanoseconds on the clock of the start stamps.
type Life struct {
	Began, Ready int64 // Ready: the runner's first call, before it loads the benchmark
	Lifetime     int64 // how long krund saw it live
	Processor    int64 // processor time of all that ran
	Processors   int   // that it could use; 0: unknown
}

// Within completes a loop with the life of its process. A clock of the process that is slower than
// krund's makes the time after the last iteration long. Only as much of that time counts as the
// process used a processor beyond the time before: on a busy machine krund sees the end late. Time
// outside of iterations counts as far as the process can have used a processor in it.
func (l *Loop) Within(starts, walls []int64, p Life) {
	const second = 1e9
	last := len(starts) - 1
	end := starts[last] + walls[last]
	after := min(p.Began+p.Lifetime-end, p.Processor-(end-p.Began))
	l.After = float64(max(0, after)) / second
	l.Around = float64(max(0, starts[0]-p.Ready))/second + l.After
	l.Outside = max(0, l.Outside-float64(max(0, p.Lifetime-p.Processor))/second/float64(len(starts)))
	l.Processor = float64(p.Processor-(p.Ready-p.Began)) / second
	if p.Processors > 0 {
		l.Apart = max(0, l.Processor-float64(p.Processors)*l.Iterations)
	}
}

// Kept reports whether iterations became trivially cheap once the first one was measured.
func (l *Loop) Kept() bool {
	return l.First >= worked && l.Last < trivial && l.First > keptRatio*l.Last
}

// Late reports whether the process went on after its last iteration for more than an end takes.
func (l *Loop) Late() bool { return l.After > longAfter && l.After > 0.8*l.Iterations }

// Cheaper reports whether the iterations of l do so little beside those of other that they cannot
// be the same work.
func (l *Loop) Cheaper(other *Loop) bool {
	const ratio = 200
	return l.Last < trivial && ratio*l.Last < other.Last
}

// Doubt says why the measured time of an execution may not be its work; "" if there is no doubt. It
// is "" for an instrumented execution, whose runner asks the VM between iterations.
func (e *Execution) Doubt() string {
	l := e.Loop
	switch {
	case l == nil || e.Instrument != "":
		return ""
	case e.sameResults():
		return fmt.Sprintf("all %d inputs have the same result: it may be a kept one, or tell nothing about "+
			"the work", len(e.Results))
	case l.Kept():
		return fmt.Sprintf("iterations became trivially cheap: %.2g s after a first one of %.2g s; if "+
			"run_iter keeps a result, let it compute it in each iteration", l.Last, l.First)
	case l.Late():
		return fmt.Sprintf("the process went on for %.2g s after its last iteration, and all iterations "+
			"took %.2g s; wait in run_iter for work that it begins", l.After, l.Iterations)
	}
	return ""
}

// Share is the share of the loop that lies in iterations, from 0 to 1.
func (l *Loop) Share() float64 {
	if l.Outside == 0 {
		return 1
	}
	return l.Measured / (l.Measured + l.Outside)
}

// Uncovered reports whether iterations cover so little of the loop that they may not be the work of
// the benchmark. It is false for an instrumented execution, whose runner asks the VM between
// iterations, and for one of a suite.
func (e *Execution) Uncovered() bool {
	return e.Loop != nil && e.Instrument == "" && !e.Suite && e.Loop.Share() < LeastShare
}

// sameResults reports whether run_iter returned one result for several inputs.
func (e *Execution) sameResults() bool {
	const fewest = 4
	first := func(i int64) bool { return i != e.Results[0] }
	return len(e.Results) >= fewest && len(e.Inputs) == len(e.Results) && e.Results[0] != MissingInt &&
		!slices.ContainsFunc(e.Results, first) && slices.Min(e.Inputs) < slices.Max(e.Inputs)
}
