// Package verdict decides whether a process execution counts. It is pure: its input is what was
// observed, its output an outcome with reasons. It never accesses the machine and never decides
// what happens next; that is the task of internal/boot. Start reading at Judge.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
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
		wrong = append(wrong, fmt.Sprintf("%d of %d iterations were measured", e.Done, e.Planned))
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
