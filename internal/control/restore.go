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

// A Restoration is the result of restoring one change.
type Restoration string

// The outcomes.
const (
	Restored Restoration = "restored" // the old value was written and read back
	// the old value was in place: the change was never made, or was restored already
	Already Restoration = "already"
	Void    Restoration = "void"   // the machine has been rebooted since, which restored the setting
	Gone    Restoration = "gone"   // what was changed no longer exists
	Failed  Restoration = "failed" // it could not be restored
)

// A Reversal is one change to restore and its outcome.
type Reversal struct {
	Entry   Entry       `json:"-"`
	Control string      `json:"control"`
	Target  string      `json:"target"`
	Value   string      `json:"value"` // the value to restore
	Outcome Restoration `json:"outcome"`
	Error   string      `json:"error,omitempty"` // when Outcome is Failed
}

// A RestoreReport lists what a restore did, the last change first. It is empty if there was nothing
// to do.
type RestoreReport []Reversal

// Err returns nil if every change is restored, and otherwise an error that names those that are
// not.
func (r RestoreReport) Err() error {
	var errs []error
	for _, x := range r {
		if x.Outcome == Failed {
			errs = append(errs, fmt.Errorf("restore %s to %s: %s", clip(x.Target), clip(x.Value), x.Error))
		}
	}
	return errors.Join(errs...)
}

// Print writes one line for each change.
func (r RestoreReport) Print(w io.Writer) error {
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
			b.WriteString(" (no longer exists)")
		case Failed:
			fmt.Fprintf(&b, " not restored to %s: %s", x.Value, x.Error)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Restore restores every change that the journal still holds, the last one first, and reports what
// it did. Changes of another boot are void. It works however the krund that made the changes ended,
// and repeating it does nothing. It continues past changes that cannot be restored: they are in the
// report as Failed, stay in the journal, and are in the error. It does not stop when ctx ends,
// since a half-restored machine is the worst state; ctx only carries values.
func Restore(ctx context.Context, m *Machine, j *Journal) (RestoreReport, error) {
	return restore(ctx, m, j, j.Pending())
}

// RestoreSettings is Restore for a krund that continues the experiment: it keeps the account for
// benchmarks.
func RestoreSettings(ctx context.Context, m *Machine, j *Journal) (RestoreReport, error) {
	return restore(ctx, m, j, slices.DeleteFunc(j.Pending(), isAccount))
}

func restore(ctx context.Context, m *Machine, j *Journal, pending []Entry) (RestoreReport, error) {
	var live []Entry
	var report RestoreReport
	for _, e := range slices.Backward(pending) {
		if m.stale(e) {
			report = append(report, reversal(e, Void))
			continue
		}
		if err := checkOwned(e.Control, e.Step); err != nil {
			x := reversal(e, "")
			x.record(Failed, err)
			report = append(report, x)
			continue
		}
		live = append(live, e)
	}
	slices.Reverse(live)
	report = append(report, restoreEntries(ctx, m, live)...)
	err := errors.Join(report.Err(), j.undone(report))
	if len(j.Damage()) > 0 {
		err = errors.Join(err, fmt.Errorf("the journal was damaged (%s): a change may not have been "+
			"restored; reboot to be sure",
			strings.Join(j.Damage(), "; ")))
	}
	return report, err
}

// stale reports whether a reboot has discarded a change. Nothing that krund changes survives one,
// with two exceptions: the account for benchmarks and, in a kernel started by kexec, the
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

func reversal(e Entry, o Restoration) Reversal {
	return Reversal{Entry: e, Control: e.Control, Target: e.Step.Target, Value: e.Step.Old, Outcome: o}
}

// restorePasses bounds how often restoreEntries goes over the changes. Settings depend on each
// other: the frequency limits accept their old value only after turbo is on again, and switching
// turbo on moves limits that were restored before.
const restorePasses = 3

// settleDelay is how long to wait before checking whether settings have moved each other: after a
// change of turbo the kernel moves frequency limits in a separate thread.
const settleDelay = 50 * time.Millisecond

// restoreEntries restores entries, given oldest first, in reverse order, and repeats this until
// nothing moves (at most restorePasses times). Of several changes to one target the oldest has the
// value to restore.
func restoreEntries(ctx context.Context, m *Machine, entries []Entry) RestoreReport {
	ctx = context.WithoutCancel(ctx)
	report := make(RestoreReport, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		report = append(report, reversal(oldest(entries, e), ""))
		report[len(report)-1].Entry = e
	}
	for pass := range restorePasses {
		if pass > 0 {
			m.wait(ctx, settleDelay)
		}
		again := false
		for i := range report {
			x := &report[i]
			step := x.Entry.Step
			step.Old, step.Data = x.Value, oldest(entries, x.Entry).Step.Data
			outcome, err := m.restore(ctx, step, pass == restorePasses-1)
			again = again || outcome == Restored || outcome == Failed
			x.record(outcome, err)
		}
		if !again {
			break
		}
	}
	return report
}

// oldest returns the first entry that changes the same target as e.
func oldest(entries []Entry, e Entry) Entry {
	i := slices.IndexFunc(entries, func(o Entry) bool {
		return o.Step.Kind == e.Step.Kind &&
			o.Step.Target == e.Step.Target
	})
	return entries[i]
}

// record records the outcome of a pass over the change. A restored change stays Restored when a
// later pass finds the value in place.
func (x *Reversal) record(outcome Restoration, err error) {
	x.Error = ""
	switch {
	case outcome == Failed:
		x.Outcome, x.Error = Failed, err.Error()
	case x.Outcome == Restored, x.Outcome == Failed:
		x.Outcome = Restored // this pass, or an earlier step in it, restored the value
	default:
		x.Outcome = outcome
	}
}

// restore restores one step. Only the last attempt waits for a frequency limit to show. Turbo holds
// limits back until it is on again, and waiting for each of them would take minutes on a machine
// with hundreds of CPUs.
func (m *Machine) restore(ctx context.Context, s Step, last bool) (Restoration, error) {
	a, err := m.applier(s.Kind)
	if err != nil {
		return Failed, err
	}
	if f, is := a.(fileApplier); is {
		f.hasty = !last
		a = f
	}
	return a.restore(ctx, s)
}
