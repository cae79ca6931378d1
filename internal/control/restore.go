package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// An Outcome says what became of taking one change back.
type Outcome string

// The outcomes.
const (
	Restored Outcome = "restored" // the old value was put back and read back
	// the old value was there: the change was never made, or somebody took it back
	Already Outcome = "already"
	Void    Outcome = "void"   // the machine has been rebooted since, which took it back
	Gone    Outcome = "gone"   // what was changed does not exist any more
	Failed  Outcome = "failed" // it could not be taken back
)

// A Reversal is one change that was to be taken back, and what became of it.
type Reversal struct {
	Entry   Entry   `json:"-"`
	Control string  `json:"control"`
	Target  string  `json:"target"`
	Value   string  `json:"value"` // the value to put back
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"` // when Outcome is Failed
}

// A Report is what a restore did, in the order of work: the last change first. It is empty when
// there was nothing to do.
type Report []Reversal

// Err returns nil when every change is taken back, and otherwise an error that names those that are
// not.
func (r Report) Err() error {
	var errs []error
	for _, x := range r {
		if x.Outcome == Failed {
			errs = append(errs, fmt.Errorf("put %s back to %s: %s", clip(x.Target), clip(x.Value), x.Error))
		}
	}
	return errors.Join(errs...)
}

// Print writes one line for each change.
func (r Report) Print(w io.Writer) error {
	if len(r) == 0 {
		_, err := fmt.Fprintln(w, "nothing to restore")
		return err
	}
	var b strings.Builder
	for _, x := range r {
		fmt.Fprintf(&b, "%-9s %s: %s", x.Outcome, x.Control, x.Target)
		switch x.Outcome {
		case Restored, Already:
			fmt.Fprintf(&b, " = %s", x.Value)
		case Void:
			b.WriteString(" (the machine has been rebooted since)")
		case Gone:
			b.WriteString(" (does not exist any more)")
		case Failed:
			fmt.Fprintf(&b, " not put back to %s: %s", x.Value, x.Error)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Restore takes back every change that the journal still holds, the last one first, and says what
// it did. Changes of another boot are void. It works whatever happened to the krund that made the
// changes, and doing it again does nothing. It goes on past changes that cannot be taken back: they
// are in the report as Failed, stay in the journal, and are in the error. It does not stop when ctx
// ends, since a machine half restored is the worst of states; ctx only carries values.
func Restore(ctx context.Context, m *Machine, j *Journal) (Report, error) {
	return restore(ctx, m, j, j.Pending())
}

// RestoreSettings is Restore for a krund that goes on with the experiment: it leaves the account
// for benchmarks.
func RestoreSettings(ctx context.Context, m *Machine, j *Journal) (Report, error) {
	return restore(ctx, m, j, slices.DeleteFunc(j.Pending(), isAccount))
}

func restore(ctx context.Context, m *Machine, j *Journal, pending []Entry) (Report, error) {
	var live []Entry
	var report Report
	for _, e := range slices.Backward(pending) {
		if m.stale(e) {
			report = append(report, reversal(e, Void))
			continue
		}
		if err := own(e.Control, e.Step); err != nil {
			x := reversal(e, "")
			x.settle(Failed, err)
			report = append(report, x)
			continue
		}
		live = append(live, e)
	}
	slices.Reverse(live)
	report = append(report, takeBack(ctx, m, live)...)
	err := errors.Join(report.Err(), j.undone(report))
	if len(j.Damage()) > 0 {
		err = errors.Join(err, fmt.Errorf("the journal was damaged (%s): a change may not have been taken "+
			"back; reboot to be sure",
			strings.Join(j.Damage(), "; ")))
	}
	return report, err
}

// stale reports whether a reboot has taken a change back. Nothing that krund changes outlives one,
// with two exceptions: the account for benchmarks, and, in a kernel started by kexec, the
// processor's registers.
func (m *Machine) stale(e Entry) bool {
	if e.Boot == m.Boot || e.Boot == "" || m.Boot == "" {
		return false
	}
	switch e.Step.Kind {
	case KindAccount:
		return false
	case KindMSR:
		return !msrApplier{m.Root}.stands(e.Step)
	default:
		return true
	}
}

func reversal(e Entry, o Outcome) Reversal {
	return Reversal{Entry: e, Control: e.Control, Target: e.Step.Target, Value: e.Step.Old, Outcome: o}
}

// restorePasses bounds how often takeBack goes over the changes. Settings depend on each other: the
// frequency limits accept their old value only after turbo is on again, and switching turbo on
// moves limits that were put back before.
const restorePasses = 3

// consequences is how long to wait before looking whether settings have moved each other: the
// kernel moves frequency limits after a change of turbo in a thread of its own.
const consequences = 50 * time.Millisecond

// takeBack undoes entries, given oldest first, in reverse order, and again until nothing moves any
// more (at most restorePasses times). Of several changes to one thing the oldest knows the value to
// put back.
func takeBack(ctx context.Context, m *Machine, entries []Entry) Report {
	ctx = context.WithoutCancel(ctx)
	report := make(Report, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		report = append(report, reversal(oldest(entries, e), ""))
		report[len(report)-1].Entry = e
	}
	for pass := range restorePasses {
		if pass > 0 {
			m.wait(ctx, consequences)
		}
		again := false
		for i := range report {
			x := &report[i]
			step := x.Entry.Step
			step.Old, step.Data = x.Value, oldest(entries, x.Entry).Step.Data
			outcome, err := m.undo(ctx, step, pass == restorePasses-1)
			again = again || outcome == Restored || outcome == Failed
			x.settle(outcome, err)
		}
		if !again {
			break
		}
	}
	return report
}

// oldest returns the first entry that changes the same thing as e.
func oldest(entries []Entry, e Entry) Entry {
	i := slices.IndexFunc(entries, func(o Entry) bool {
		return o.Step.Kind == e.Step.Kind &&
			o.Step.Target == e.Step.Target
	})
	return entries[i]
}

// settle notes what a pass over the change brought. A change once put back stays Restored when a
// later pass finds the value there.
func (x *Reversal) settle(outcome Outcome, err error) {
	x.Error = ""
	switch {
	case outcome == Failed:
		x.Outcome, x.Error = Failed, err.Error()
	case x.Outcome == Restored, x.Outcome == Failed:
		x.Outcome = Restored // this pass or an earlier step of it has done what is wanted
	default:
		x.Outcome = outcome
	}
}

// undo takes one step back. Only the last attempt waits for a limit to show: those that turbo holds
// back until it is on again would else be waited for one after the other, minutes on a machine of
// some hundred CPUs.
func (m *Machine) undo(ctx context.Context, s Step, last bool) (Outcome, error) {
	a, err := m.applier(s.Kind)
	if err != nil {
		return Failed, err
	}
	if f, is := a.(fileApplier); is {
		f.hasty = !last
		a = f
	}
	return a.undo(ctx, s)
}
