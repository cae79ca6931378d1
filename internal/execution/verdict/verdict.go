// Package verdict decides whether a process execution counts. It is pure: its input is what was
// observed, its output an outcome with reasons. It never accesses the machine and never decides
// what happens next; that is the task of internal/boot. Start reading at Judge.
package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"krund/internal/experiment/results"
)

// Policy is how to treat a run that the machine disturbed.
type Policy string

// The policies, as in the configuration's [verdict] section.
const (
	Accept Policy = "accept" // it counts; the reasons are kept in the record
	Rerun  Policy = "rerun"  // it is run again while attempts are left
	Fail   Policy = "fail"   // it is an error
)

// Evidence is what is known about a finished process execution.
type Evidence struct {
	Planned int // in-process iterations
	Done    int // complete iterations with a measured time
	// iterations with which the measurement was complete, of an execution that krund asked to stop;
	// 0: it did not
	Enough int

	NotStarted string        // why the program could not be executed; "" if it was executed
	Exit       *int          // exit status; nil if a signal killed it
	ExitText   string        // meaning of the status if it is defined by the runner, else ""
	Failed     string        // what failed, by the runner for whole commands; it replaces the status
	Signal     string        // the signal that killed it, or ""
	TimedOut   bool          // killed at Timeout
	Timeout    time.Duration // the limit
	TimeoutBy  string        // what has set it, if not limits.timeout
	OOMKills   int           // processes killed by the kernel's OOM killer during the run
	LastWords  string        // last line of stderr, or else of stdout, or ""
	Said       string        // the end of stderr and stdout, where a limit may be named
	Bounds     Bounds        // the limits

	WallNS   []int64       // reported iteration times in nanoseconds
	Lifetime time.Duration // lifetime of the process, by krund's own clock; 0 if unknown
	External bool          // the suite measured its own times

	Series []string // sentences: why the requested series is missing, by fault of the runner or the suite
	// sentences: what is impossible in the series: missing counters, a counter or clock that runs
	// backwards, a corrupt buffer
	Unsound []string

	Refused   []string // sentences: events during the run that the configuration forbids
	Disturbed []string // sentences: what the machine should not have done during the run
}

// Limits are the limits for judging a run.
type Limits struct {
	AttemptsLeft int // further attempts this slot may have
	Disturbed    Policy
}

// Judgment is the verdict with its reasons. A completed run may have reasons, too: what was
// accepted anyway.
type Judgment struct {
	Outcome results.Outcome
	Reasons []string
}

// Judge returns the outcome of a run. It checks in this order, from what invalidates everything to
// mere disturbances: not started, timed out, failed, too few iterations, iterations longer than the
// process, an impossible series, a disturbance.
//
// The policy decides about a run that is disturbed but otherwise sound. It also decides whether a
// run with an impossible series is run again; but accepting it would mean accepting numbers known
// to be wrong, so it is an error under any other policy.
func Judge(e Evidence, l Limits) Judgment {
	switch {
	case e.NotStarted != "":
		return Judgment{results.Error, []string{"the benchmark could not be started: " + e.NotStarted}}
	case e.TimedOut:
		return Judgment{results.Timeout, append([]string{fmt.Sprintf(
			"killed at the time limit of %s (%s) after %d of %d iterations", e.Timeout,
			cmp.Or(e.TimeoutBy, "limits.timeout"), e.Done, e.Planned)}, e.disturbances()...)}
	}
	var wrong []string
	if how := ending(e); how != "" {
		wrong = append(wrong, how)
	}
	if e.Done != e.Planned && !e.stopped() && (len(wrong) > 0 || len(e.Series)+len(e.Unsound) == 0) {
		were := "were"
		if e.Done == 1 {
			were = "was"
		}
		wrong = append(wrong, fmt.Sprintf("%d of %d iterations %s measured", e.Done, e.Planned, were))
	}
	wrong = append(wrong, e.Series...)
	if why := e.tooLong(); why != "" {
		wrong = append(wrong, why)
	}
	if len(wrong) > 0 {
		return Judgment{results.Error, slices.Concat(wrong, e.Unsound, e.disturbances())}
	}
	policy := e.policy(l)
	reasons := slices.Concat(e.Unsound, e.disturbances())
	if len(reasons) == 0 || len(e.Unsound) == 0 && policy == Accept {
		return Judgment{results.Completed, append(reasons, e.doubts()...)}
	}
	return discount(append(reasons, e.doubts()...), l, policy == Rerun)
}

// stopped reports whether the execution has fewer iterations than planned because krund asked it to
// stop when it had enough.
func (e Evidence) stopped() bool { return e.Enough > 0 && e.Done >= e.Enough && e.Done < e.Planned }

// ending describes how the process failed, or returns "" if it succeeded.
func ending(e Evidence) string {
	var how string
	switch {
	case e.Signal != "":
		how = "ended by signal " + e.Signal
		if e.OOMKills > 0 {
			how += ", and the kernel killed a process because the machine's memory ran out; use a smaller " +
				"parameter, or lower limits.heap so that the benchmark fails first"
		}
	case e.Exit == nil:
		how = "ended for an unknown reason"
	case *e.Exit == 0:
		return ""
	case e.Failed != "":
		how = e.Failed
	case e.ExitText != "":
		how = fmt.Sprintf("exit status %d: %s", *e.Exit, e.ExitText)
	default:
		how = fmt.Sprintf("exit status %d", *e.Exit)
	}
	if limit := e.limit(); limit != "" {
		how += "; " + limit
	}
	if e.LastWords != "" {
		how += "; its last output: " + e.LastWords
	}
	return how
}

// disturbances returns all disturbances, the more serious ones first.
func (e Evidence) disturbances() []string { return slices.Concat(e.Refused, e.Disturbed) }

// policy returns the policy for this run: an execution with forbidden events does not count,
// whatever the configured policy is.
func (e Evidence) policy(l Limits) Policy {
	switch {
	case l.Disturbed == Fail:
		return Fail
	case l.Disturbed == Rerun || len(e.Refused) > 0:
		return Rerun
	}
	return Accept
}

// discount judges a run that does not count: it is run again if wanted and attempts are left.
func discount(reasons []string, l Limits, wanted bool) Judgment {
	switch {
	case !wanted:
		return Judgment{results.Error, reasons}
	case l.AttemptsLeft > 0:
		return Judgment{results.Rerun, reasons}
	}
	return Judgment{results.Error, append([]string{"disturbed, and no attempt is left"}, reasons...)}
}

// Bounds are the limits that were in effect while the process ran, and what it used of them.
type Bounds struct {
	Heap, Stack, Processes, Home string // as in the configuration, "2GiB"; "" for no limit

	HeapBytes   int64 // Heap in bytes; 0 for no limit
	MaxRSSBytes int64 // the largest resident size; 0 if unknown
}

// smallHeap is the size of the data segment below which a VM, and often a program in C, dies while
// it is loaded, without a word: the loader and libc need room of their own.
const smallHeap = 64 << 20

// symptom is what programs write when a limit stops them, in lower case.
type symptom struct {
	limit string   // key of [limits]
	said  []string // parts of the output
}

// symptoms, the most specific ones first: a thread that cannot be created is often reported as a
// lack of memory, too.
var symptoms = []symptom{
	{"processes", []string{
		"resource temporarily unavailable", // EAGAIN of fork and clone, glibc
		"can't start new thread",           // CPython
		"unable to create native thread", "unable to create new native thread", "pthread_create failed",
		"can't create thread", "cannot create thread", "uv_thread_create",
	}},
	{"home", []string{"no space left on device"}},
	{"heap", []string{
		"cannot allocate memory", "can't allocate memory", "out of memory", "not enough memory",
		"outofmemoryerror", "memoryerror", "nomemoryerror", "failed to allocate memory", "bad_alloc",
		"insufficient memory", "could not reserve enough space", "failed to map segment",
		"memory allocation failed", "mmap failed", "failed to reserve", "can't initialize heap",
	}},
}

// limit names the limit that probably ended the process, as a clause, or returns "". It judges by
// what the process said, and by how it ended.
func (e Evidence) limit() string {
	b := e.Bounds
	in := map[string]string{"heap": b.Heap, "processes": b.Processes, "home": b.Home}
	said := strings.ToLower(e.Said)
	for _, s := range symptoms {
		known := slices.ContainsFunc(s.said, func(part string) bool { return strings.Contains(said, part) })
		if known && in[s.limit] != "" {
			return fmt.Sprintf("the limit limits.%s = %q was probably reached", s.limit, in[s.limit])
		}
	}
	switch {
	case b.HeapBytes > 0 && b.HeapBytes < smallHeap && e.Done == 0 && e.crashed():
		return fmt.Sprintf("limits.heap = %q is probably too small for the program to start; a number "+
			"without a unit is in bytes", b.Heap)
	case e.OOMKills == 0 && nearly(b.MaxRSSBytes, b.HeapBytes):
		return fmt.Sprintf("it used almost all of limits.heap = %q", b.Heap)
	case e.Signal == "SIGSEGV" && b.Stack != "" && e.Done < e.Planned:
		return fmt.Sprintf("if it recurses deeply, limits.stack = %q may be too small", b.Stack)
	}
	return ""
}

// nearly reports whether a process used nine tenths of a limit, or more.
func nearly(used, limit int64) bool {
	const tenths, most = 10, 9
	return limit > 0 && used >= limit/tenths*most
}

// crashed reports whether the process ended before its program could decide how: by a signal, or
// because its loader failed.
func (e Evidence) crashed() bool {
	const loader = 127 // exit status of ld.so
	return e.Signal != "" || e.Exit != nil && *e.Exit == loader
}

// krund measures the lifetime of the process from before its start until after its end, so the
// iterations cannot take longer in total. They may seem to take slightly longer: krund's clock is
// slewed to the correct time and libkrun's is not, by up to 500 ppm, and a suite that prints whole
// milliseconds may have rounded each of them up.
const (
	slewFraction = 1.0 / 1000 // fraction of the process's lifetime: twice the kernel's maximum slew
	coarsestUnit = 1_000_000  // nanoseconds: rounding to units coarser than milliseconds is not tolerated
	unitFactor   = 1000       // between adjacent units: s, ms, us, ns
)

// tooLong returns why the iterations cannot have taken as long as reported, or "" if they can or if
// the lifetime of the process is unknown.
func (e Evidence) tooLong() string {
	if e.Lifetime <= 0 {
		return ""
	}
	sum, most := e.sum(), e.mostTogether()
	if sum <= most {
		return ""
	}
	why := fmt.Sprintf("the %d iterations reportedly took %s in total, but the process lived for %s",
		len(e.WallNS), seconds(sum), seconds(float64(e.Lifetime)))
	if !e.External {
		return why + ": the buffer was not written by libkrun alone"
	}
	for i, name := range []string{"milliseconds", "microseconds", "nanoseconds"} {
		factor := math.Pow(unitFactor, float64(i+1))
		if sum/factor <= most && sum/factor*100 >= most {
			return why + "; does the suite print " + name + " instead of seconds?"
		}
	}
	return why
}

// doubts returns remarks about suspicious times that may be right. They do not change the outcome.
func (e Evidence) doubts() []string {
	var zero some
	for i, ns := range e.WallNS {
		if ns == 0 {
			zero.add(i)
		}
	}
	if zero.n == 0 {
		return nil
	}
	return []string{"the time is 0 ns " + CounterRun{WallNS: e.WallNS}.in(zero) +
		": shorter than the resolution of its clock, or not measured"}
}

// sum returns the total time of all iterations in nanoseconds. Negative times do not offset others.
func (e Evidence) sum() float64 {
	sum := 0.0
	for _, ns := range e.WallNS {
		sum += float64(max(ns, 0))
	}
	return sum
}

// mostTogether returns the maximum plausible total of the iterations in nanoseconds.
func (e Evidence) mostTogether() float64 {
	unit := int64(coarsestUnit)
	for _, ns := range e.WallNS {
		for ns%unit != 0 {
			unit /= unitFactor
		}
	}
	return float64(e.Lifetime)*(1+slewFraction) + float64(len(e.WallNS))*float64(unit)
}

func seconds(ns float64) string { return fmt.Sprintf("%.3g s", ns/1e9) }
