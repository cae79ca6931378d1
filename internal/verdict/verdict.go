// Package verdict decides whether a process execution counts. It is pure: observations go in, an
// outcome with its reasons comes out. It never examines the machine and never decides what happens
// next; internal/boot does. Start reading at Judge.
package verdict

import (
	"fmt"
	"slices"
	"time"

	"krund/internal/results"
)

// Policy decides what happens to a run that the machine disturbed.
type Policy string

// The policies, as in the configuration's [verdict] section.
const (
	Accept Policy = "accept" // it counts; the reasons are kept in the record
	Rerun  Policy = "rerun"  // it is repeated, as long as attempts are left
	Fail   Policy = "fail"   // it is an error
)

// Execution is what was observed of one process execution.
type Execution struct {
	Planned int // in-process iterations
	Done    int // complete iterations with a time

	NotStarted string        // why the program could not be executed; "" when it was
	Exit       *int          // exit status; nil when a signal ended it
	ExitText   string        // what the status means when it is one of the runner's own; ""
	Signal     string        // the signal that ended it; ""
	TimedOut   bool          // killed at Timeout
	Timeout    time.Duration // the limit
	OOMKills   int           // processes that the kernel killed meanwhile because memory ran out
	LastWords  string        // last line on stderr, or else on stdout; ""

	WallNS   []int64       // the claimed times of the iterations, nanoseconds
	Lifetime time.Duration // of the process, by krund's own clock; 0: unknown
	External bool          // a suite measured itself

	// sentences: why the series is not the requested one: a fault of the runner or the suite
	Series []string
	// sentences: what is impossible in the series: counters missing or running backwards, a clock
	// that runs backwards, an inconsistent buffer
	Unsound []string

	// sentences: what happened during the run although the configuration forbids it
	Refused   []string
	Disturbed []string // sentences: disturbances by the machine during the run
}

// Limits are the bounds for judging a run.
type Limits struct {
	AttemptsLeft int // further attempts this slot may have
	Disturbed    Policy
}

// Outcome is the judgement with its reasons. A completed run may have reasons, too: what was
// accepted in spite of them.
type Outcome struct {
	Result  results.Outcome
	Reasons []string
}

// Judge returns the outcome of a run. It checks first what makes all else meaningless: not started,
// out of time, ended badly, too few iterations, iterations longer than the process, an impossible
// series, a disturbance.
//
// The policy decides about a run that was disturbed but is otherwise sound. It also decides whether
// a run with an impossible series is repeated. Under any other policy such a run is an error,
// because accepting it would accept numbers that are known to be wrong.
func Judge(e Execution, l Limits) Outcome {
	switch {
	case e.NotStarted != "":
		return Outcome{results.Error, []string{"the benchmark could not be started: " + e.NotStarted}}
	case e.TimedOut:
		return Outcome{results.Timeout, append([]string{fmt.Sprintf(
			"killed at the time limit of %s after %d of %d iterations", e.Timeout, e.Done,
			e.Planned)}, e.disturbances()...)}
	}
	var wrong []string
	if how := ending(e); how != "" {
		wrong = append(wrong, how)
	}
	if e.Done != e.Planned && (len(wrong) > 0 || len(e.Series)+len(e.Unsound) == 0) {
		wrong = append(wrong, fmt.Sprintf("%d of %d iterations were measured", e.Done, e.Planned))
	}
	wrong = append(wrong, e.Series...)
	if why := e.tooLong(); why != "" {
		wrong = append(wrong, why)
	}
	if len(wrong) > 0 {
		return Outcome{results.Error, slices.Concat(wrong, e.Unsound, e.disturbances())}
	}
	policy := e.policy(l)
	reasons := slices.Concat(e.Unsound, e.disturbances())
	if len(reasons) == 0 || len(e.Unsound) == 0 && policy == Accept {
		return Outcome{results.Completed, append(reasons, e.doubts()...)}
	}
	return discount(append(reasons, e.doubts()...), l, policy == Rerun)
}

// ending returns how the process ended, unless it ended well; "" otherwise.
func ending(e Execution) string {
	var how string
	switch {
	case e.Signal != "":
		how = "ended by signal " + e.Signal
		if e.OOMKills > 0 {
			how += ", and the kernel killed a process because memory ran out; raise limits.heap or use a " +
				"smaller parameter"
		}
	case e.Exit == nil:
		how = "ended in an unknown way"
	case *e.Exit == 0:
		return ""
	case e.ExitText != "":
		how = fmt.Sprintf("exit status %d: %s", *e.Exit, e.ExitText)
	default:
		how = fmt.Sprintf("exit status %d", *e.Exit)
	}
	if e.LastWords != "" {
		how += "; it said last: " + e.LastWords
	}
	return how
}

// disturbances returns all disturbances, the worse ones first.
func (e Execution) disturbances() []string { return slices.Concat(e.Refused, e.Disturbed) }

// policy returns the policy for this run: a refused run does not count, whatever the configured
// policy is.
func (e Execution) policy(l Limits) Policy {
	switch {
	case l.Disturbed == Fail:
		return Fail
	case l.Disturbed == Rerun || len(e.Refused) > 0:
		return Rerun
	}
	return Accept
}

// discount judges a run that does not count: it is repeated, if configured, as long as attempts are
// left.
func discount(reasons []string, l Limits, wanted bool) Outcome {
	switch {
	case !wanted:
		return Outcome{results.Error, reasons}
	case l.AttemptsLeft > 0:
		return Outcome{results.Rerun, reasons}
	}
	return Outcome{results.Error, append([]string{"disturbed, and no attempt is left"}, reasons...)}
}
