package boot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/schedule"
)

// reportOutcome reports the end of an execution to Progress and the log. It sends a notification if
// the record deserves a look.
func (x *experiment) reportOutcome(ctx context.Context, slot schedule.Slot, r results.Record,
	took time.Duration) {
	x.Progress.End(slot, x.count(), r.Outcome, r.Reasons, took)
	// only for the log file: Progress shows it to people
	x.Log.Debug("execution ended", "slot", slot.Index, "key", slot.Key.String(), "attempt", slot.Attempts,
		"outcome", string(r.Outcome), "reasons", strings.Join(r.Reasons, "; "))
	x.notifyOutcome(ctx, slot, r)
}

// notifyOutcome sends a notification about a record that deserves a look.
func (x *experiment) notifyOutcome(ctx context.Context, slot schedule.Slot, r results.Record) {
	remarks := append(append([]string{}, r.Reasons...), r.Machine.KernelLog.Lines...)
	if r.Outcome == results.Completed && len(remarks) == 0 {
		return
	}
	x.notify(ctx, command.Flagged, fmt.Sprintf("%s, execution %d: %s", slot.Key, slot.Pexec, r.Outcome),
		fmt.Sprintf("slot %d, attempt %d\n%s", slot.Index, slot.Attempts, bullets(remarks)))
}

// reportFinished reports that nothing is outstanding, unless an earlier process has done so.
func (x *experiment) reportFinished(ctx context.Context) error {
	s, err := x.schedule.Summarize()
	if err == nil && !x.worked && x.Programs != nil && len(x.editions) > 0 && !x.hooked() {
		x.warnChanged(ctx)
	}
	if err != nil || !x.worked {
		return err
	}
	x.Log.Info("finished", "completed", s.Completed, "errors", s.Error, "timeouts", s.Timeout,
		"skipped", s.Skipped)
	x.notify(ctx, command.Finished, fmt.Sprintf("finished: %d of %d completed", s.Completed, s.Total()),
		fmt.Sprintf("completed %d, errors %d, timeouts %d, skipped %d\n", s.Completed, s.Error,
			s.Timeout, s.Skipped))
	return nil
}

// warnChanged warns a person who starts a finished experiment once more, to measure a program that
// has changed.
func (x *experiment) warnChanged(ctx context.Context) {
	now, err := x.Programs.Read(ctx)
	if err != nil {
		return
	}
	if changes, _ := x.editions[len(x.editions)-1].Compare(now, nil); len(changes) > 0 {
		x.Log.Warn(fmt.Sprintf("%s has changed since it was measured, and nothing is measured now: the "+
			"results are those of the program before. `krunctl run --directory NEW.krun %s` measures the new "+
			"one, and `krunctl compare` both", changes[0].File, display.ShellPath(x.cfg.Path)))
	}
}

// notify sends a notification. A mail is counted durably before it is sent, so that no fault can
// send an unlimited number. The last mail is reserved for the end of the experiment: failing
// executions must not use it up.
func (x *experiment) notify(ctx context.Context, event command.MessageKind, subject, text string) {
	left := x.cfg.Notify.MaxMails - x.schedule.Header().Mails
	mail := x.Notifier.WantsMail() && (left > 1 || left == 1 && event != command.Flagged)
	if mail {
		if err := x.schedule.UpdateHeader(func(h *schedule.Header) { h.Mails++ }); err != nil {
			x.Log.Error("a mail was not sent because it could not be counted", "error", err)
			mail = false
		}
	}
	m := command.Message{Event: event, Experiment: x.cfg.Experiment.Name, Host: x.Host,
		Subject: subject, Text: text}
	if err := x.Notifier.Send(ctx, m, mail); err != nil {
		x.Log.Warn("notification not delivered", "event", string(event), "error", err)
	}
}

func bullets(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "- " + strings.Join(lines, "\n- ") + "\n"
}

// count returns the numbers for Progress. It counts the slots once, because only this process
// changes them. If they cannot be read, it counts all of them as left, and the next pass reports
// the error.
func (x *experiment) count() Count {
	n := x.schedule.Header().Slots
	if x.left < 0 {
		left, err := x.schedule.Left()
		if err != nil {
			return Count{Slots: n, Left: n}
		}
		x.left = left
	}
	return Count{Slots: n, Left: x.left}
}
