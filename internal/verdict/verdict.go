// Package verdict decides whether a process execution counts. It is pure: what was observed goes
// in, an outcome with its reasons comes out. It never looks at the machine and never decides what
// happens next; that is internal/boot's. Start reading at Judge.
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

	WallNS   []int64       // what the iterations are said to take, nanoseconds
	Lifetime time.Duration // of the process, by krund's own clock; 0: unknown
	External bool          // a suite measured itself

	// sentences: why there is no series as it was asked for: the runner's fault, or the suite's
	Series []string
	// sentences: what in the series cannot be right: counters missing or running backwards, a clock
	// that does, a buffer in disorder
	Unsound []string

	// sentences: what happened during the run although the configuration requires that it does not
	Refused   []string
	Disturbed []string // sentences: what the machine did during the run that it should not have done
}

// Limits are the bounds a run is judged by.
type Limits struct {
	AttemptsLeft int // further attempts this slot may have
	Disturbed    Policy
}

// Outcome is the judgement and why. Reasons may be there for a completed run, too: what was
// accepted in spite of them.
type Outcome struct {
	Result  results.Outcome
	Reasons []string
}

// Judge returns the outcome of a run. The order is from what makes all else meaningless to what
// merely disturbs: not started, out of time, ended badly, too few iterations, iterations longer
// than the process, a series that cannot be right, a disturbance.
//
// The policy decides what becomes of a run that was disturbed, which is otherwise sound. It also
// decides whether one whose series cannot be right is run again; but to accept it would be to
// accept numbers that are known to be wrong, so that it is an error under any other policy.
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

// ending says how the process ended when that was not well, "" otherwise.
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

// disturbances are all of them, the worse first.
func (e Execution) disturbances() []string { return slices.Concat(e.Refused, e.Disturbed) }

// policy is the one that holds for this run: what is refused does not count, whatever the
// configuration says of the rest.
func (e Execution) policy(l Limits) Policy {
	switch {
	case l.Disturbed == Fail:
		return Fail
	case l.Disturbed == Rerun || len(e.Refused) > 0:
		return Rerun
	}
	return Accept
}

// discount judges a run that does not count: it is run again, if wanted, as long as attempts are
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
