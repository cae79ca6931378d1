// Package verdict decides whether a process execution counts. It is pure: what was observed goes in, an outcome with its reasons comes out.
// It never looks at the machine and never decides what happens next; that is internal/boot's.
package verdict

import (
	"fmt"
	"slices"
	"time"

	"krund/internal/results"
)

// Policy says what becomes of a run that the machine disturbed.
type Policy string

// The policies, as in the configuration's [verdict] section.
const (
	Accept Policy = "accept" // it counts; the reasons are kept in the record
	Rerun  Policy = "rerun"  // it is run again, as long as attempts are left
	Fail   Policy = "fail"   // it is an error
)

// Execution is what is known about one process execution when it is over.
type Execution struct {
	Planned int // in-process iterations
	Done    int // complete iterations with a time

	NotStarted string        // why the program could not be executed; "" when it was
	Exit       *int          // exit status; nil when a signal ended it
	ExitText   string        // what the status means when it is one of the runner's own; ""
	Signal     string        // the signal that ended it; ""
	TimedOut   bool          // killed at Timeout
	Timeout    time.Duration // the limit
	OOMKills   int           // processes the kernel killed meanwhile for want of memory
	LastWords  string        // last line on stderr, or else on stdout; ""

	Series []string // sentences: why what was measured cannot be believed, from libkrun, its buffer or the suite's output

	Refused   []string // sentences: what happened during the run although the configuration requires that it does not
	Disturbed []string // sentences: what the machine did during the run that it should not have done
}

// Limits are the bounds a run is judged by.
type Limits struct {
	AttemptsLeft int // further attempts this slot may have
	Disturbed    Policy
}

// Outcome is the judgement and why. Reasons may be there for a completed run, too: what was accepted in spite of them.
type Outcome struct {
	Result  results.Outcome
	Reasons []string
}

// Judge returns the outcome of a run. The order is from what makes all else meaningless to what merely disturbs: not started, out of time,
// ended badly, too few iterations, a series that cannot be right, a disturbance.
func Judge(e Execution, l Limits) Outcome {
	switch {
	case e.NotStarted != "":
		return Outcome{results.Error, []string{"the benchmark could not be started: " + e.NotStarted}}
	case e.TimedOut:
		return Outcome{results.Timeout, append([]string{fmt.Sprintf(
			"killed at the time limit of %s after %d of %d iterations", e.Timeout, e.Done, e.Planned)}, e.disturbances()...)}
	}
	var wrong []string
	if how := ending(e); how != "" {
		wrong = append(wrong, how)
	}
	if e.Done != e.Planned && (len(wrong) > 0 || len(e.Series) == 0) {
		wrong = append(wrong, fmt.Sprintf("%d of %d iterations were measured", e.Done, e.Planned))
	}
	wrong = append(wrong, e.Series...)
	if len(wrong) > 0 {
		return Outcome{results.Error, append(wrong, e.disturbances()...)}
	}
	return disturbed(e, l)
}

// ending says how the process ended when that was not well, "" otherwise.
func ending(e Execution) string {
	var how string
	switch {
	case e.Signal != "":
		how = "ended by signal " + e.Signal
		if e.OOMKills > 0 {
			how += ", and the kernel killed a process for want of memory; raise limits.heap or use a smaller parameter"
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

// disturbances are all of them, the worse first.
func (e Execution) disturbances() []string { return slices.Concat(e.Refused, e.Disturbed) }

// disturbed judges a run that is sound in itself. What is refused does not count, whatever the policy.
func disturbed(e Execution, l Limits) Outcome {
	reasons := e.disturbances()
	if len(reasons) == 0 {
		return Outcome{Result: results.Completed}
	}
	policy := l.Disturbed
	if len(e.Refused) > 0 && policy != Fail {
		policy = Rerun
	}
	switch {
	case policy == Fail:
		return Outcome{results.Error, reasons}
	case policy == Rerun && l.AttemptsLeft > 0:
		return Outcome{results.Rerun, reasons}
	case policy == Rerun:
		return Outcome{results.Error, append([]string{"disturbed, and no attempt is left"}, reasons...)}
	}
	return Outcome{results.Completed, reasons}
}
