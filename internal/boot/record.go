package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/machine/probe"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
)

// planned adds what was planned to a record.
func (x *experiment) planned(slot schedule.Slot, r results.Record) results.Record {
	vm, _, benchmark, _ := x.cfg.Lookup(slot.Key) // the key is from this configuration
	r.Key, r.Krund, r.Host = slot.Key, x.Version, x.Host
	r.Experiment, r.ConfigHash = x.cfg.Experiment.Name, x.cfg.Hash
	r.Slot, r.Attempt, r.Pexec, r.Edition = slot.Index, slot.Attempts, slot.Pexec, x.edition()
	r.Parameter, r.Iterations = int64(benchmark.Parameter), x.cfg.Iterations(slot.Key)
	r.Instrument, r.Reasons = vm.Instrument, []string{}
	r.Reboot, r.BootID, r.Started = x.bootKind(), x.BootID, x.Clock.Now().UTC()
	r.CounterSource = cmp.Or(r.CounterSource, "none")
	return r
}

// layout returns the layout of a slot. Another attempt has the same one.
func (x *experiment) layout(slot schedule.Slot) execution.Layout {
	l := execution.Layout{Mode: x.cfg.Experiment.Layout}
	if l.Mode == config.LayoutRandom {
		l.Offset = schedule.Offset(x.cfg.Experiment.Seed, slot.Pexec)
		l.LinkSeed = schedule.LinkSeed(x.cfg.Experiment.Seed, slot.Pexec)
	}
	return l
}

// judge assembles the record of a run and decides its outcome. more is how many attempts the slot
// has left.
func (x *experiment) judge(slot schedule.Slot, start baseline, run observedRun, more int) results.Record {
	m, seen := run.measured, run.observed
	r := x.planned(slot, m.Record)
	r.Started = run.started.UTC()
	// never nil, which means unknown
	r.Process.Findings = append(append([]string{}, start.findings...), m.Process.Findings...)
	r.Machine = seen.Machine
	r.Machine.Temperatures.Base = start.temperatures
	r.Machine.Settle = start.settled
	r.Machine.Waits = &results.Waits{SyncNS: x.cfg.Wait.Sync.Nanoseconds()}
	if start.settled == nil {
		r.Machine.Waits.StartupNS = x.cfg.Wait.Startup.Nanoseconds()
	}
	if s := start.settled; s != nil && !s.Quiet {
		seen.Remarks = append(seen.Remarks, fmt.Sprintf("the machine was not quiet when the run began, "+
			"after %s: %s", time.Duration(s.WaitedNS).Round(time.Second), strings.Join(s.Busy, "; ")))
	}
	if l := seen.Machine.Load; l != nil {
		if busy := probe.Busy(*l, r.Process); len(busy) > 0 {
			seen.Remarks = append(seen.Remarks, results.BusyMachine+strings.Join(busy, "; "))
		}
	}
	m.Execution.Refused = slices.Concat(m.Execution.Refused, seen.Refused)
	m.Execution.Disturbed = slices.Concat(m.Execution.Disturbed, seen.Disturbed)
	o := verdict.Judge(m.Execution, verdict.Limits{
		AttemptsLeft: more,
		Disturbed:    verdict.Policy(x.cfg.Verdict.Policy),
	})
	r.Outcome = o.Outcome
	r.Reasons = append(append(r.Reasons, o.Reasons...), seen.Remarks...) // never nil
	return r.Bounded()
}

// lastAttempt returns the highest attempt that the slot may have: experiment.attempts of them since
// its last rerun by the user.
func (x *experiment) lastAttempt(slot schedule.Slot) int {
	return rerun.Replaced(x.directory, slot.Index, slot.Attempts) + x.cfg.Experiment.Attempts
}

// conclude ends the attempt: with its record, or, if nothing was measured, by withdrawing the
// attempt.
func (x *experiment) conclude(slot schedule.Slot, record results.Record, err error) error {
	if err == nil {
		return x.store(slot, record)
	}
	if withdrawErr := x.schedule.Withdraw(slot); withdrawErr != nil {
		return fmt.Errorf("%w; after: %s", withdrawErr, err.Error())
	}
	if errors.Is(err, context.Canceled) {
		x.Log.Info("interrupted; the slot is outstanding again", "slot", slot.Index, "key", slot.Key.String())
	}
	return err
}

// store makes the record durable and then finishes the slot, in this order. After a crash between
// the two, or an error, the slot stays running, and reconcile finds out whether the record exists.
func (x *experiment) store(slot schedule.Slot, record results.Record) error {
	x.worked = true
	outcome, err := x.append(slot, record)
	if err != nil {
		err = fmt.Errorf("store the record of slot %d: %w; nothing else is lost: repair the disk and start "+
			"krund again", slot.Index, err)
	}
	if outcome == "" {
		return err
	}
	flag := schedule.FlagOf(outcome)
	if finishErr := x.schedule.Finish(slot, flag); err != nil || finishErr != nil {
		return errors.Join(err, finishErr)
	}
	if flag.Final() {
		x.left-- // -1 stays below 0: not counted yet
	}
	return nil
}

// Unrecorded performs the executions of an experiment without a directory, in the order of its
// schedule, and passes the record of each to each: what Run does of a pass between preparing the
// machine and storing the record. It is for short comparisons on a machine that is left as it is.
// No setting is applied, no hook runs, nothing is durable, and a failed execution is not repeated.
// Of sys it uses Executor, Machine.Watch, Clock, Version, Host, BootID and Progress. The error is
// that of each, of ctx, or of what krund itself could not do.
func Unrecorded(ctx context.Context, cfg *config.Config, sys System,
	each func(results.Record) error) error {
	x := &experiment{System: sys, cfg: cfg, reboot: config.RebootNone}
	for slot := range schedule.PlanOf(schedule.StagesOf(cfg)) {
		slot.Attempts = 1
		job, err := execution.NewJob(cfg, slot.Key)
		if err != nil {
			return err
		}
		job.Layout, job.Number, job.Root = x.layout(slot), slot.Pexec, x.Root
		run, err := x.execute(ctx, job, Applied{}, baseline{})
		if err != nil {
			return err
		}
		if err := each(x.judge(slot, baseline{}, run, 0)); err != nil {
			return err
		}
	}
	return nil
}

// Reserve is how many bytes Room keeps free on the disk: enough for the record of an ordinary
// execution.
const Reserve = 128 << 10

// Room prevents a benchmark that fills the disk from ending the experiment. Its Make, passed to
// durable.WithRoom, removes the benchmark's files, and, if that was not enough, the reserve: a file
// in the experiment's directory whose only purpose is to occupy space.
type Room struct {
	FS      durable.FS
	Dir     string // of the experiment
	Reserve int    // bytes
	// Clear ends the benchmark's processes, removes its files, and returns how many.
	Clear func() (removed int, err error)
	Log   *slog.Logger

	making bool // keep is writing the reserve
}

func (r *Room) file() string { return filepath.Join(r.Dir, "reserve") }

// Make frees space and reports whether it did.
func (r *Room) Make() bool {
	removed, err := r.Clear()
	if removed > 0 || err != nil { // logged after the removal: the log is on the same disk
		r.Log.Warn("no space was left on the disk of the results; removed the benchmark's files",
			"files", removed, "error", err)
	}
	if removed > 0 || r.making {
		return removed > 0
	}
	if err := r.FS.Remove(r.file()); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.Log.Error("the reserve could not be released", "error", err)
		}
		return false
	}
	r.Log.Warn("no space was left on the disk of the results; released the reserve", "bytes", r.Reserve)
	return true
}

// keep creates the reserve if it does not exist. fsys may free space for it.
func (r *Room) keep(fsys durable.FS) error {
	info, err := fsys.Lstat(r.file())
	if err == nil && info.Size() == int64(r.Reserve) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.making = true
	defer func() { r.making = false }()
	filler := make([]byte, r.Reserve)
	_, _ = rand.NewChaCha8([32]byte{}).Read(filler) // zeros may occupy no space; Read never fails
	f, err := fsys.OpenFile(r.file(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(filler) // after a crash an incomplete one has another size
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = fsys.SyncDir(r.Dir)
	}
	if err != nil {
		return fmt.Errorf("keep %d bytes free for the results: %w; free space on that disk", r.Reserve, err)
	}
	return nil
}

// drop removes the reserve.
func (r *Room) drop() error {
	if err := r.FS.Remove(r.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// append makes a record durable and returns the outcome that is stored, "" for none. If there is
// not enough space for the record, a small record counts the attempt instead. The error is returned
// all the same, because the next record would not fit either.
func (x *experiment) append(slot schedule.Slot, record results.Record) (results.Outcome, error) {
	err := x.results.Append(record)
	if durable.IsFull(err) { // a failed sync is not repeated by WithRoom
		err = x.results.Append(record)
	}
	if err == nil {
		return record.Outcome, nil
	}
	if !durable.IsFull(err) {
		return "", err
	}
	small := x.planned(slot, results.Record{})
	small.Started, small.BootID = record.Started, record.BootID
	small.Process.Findings = record.Process.Findings
	small.Outcome = results.Rerun
	small.Reasons = []string{fmt.Sprintf("the record of this attempt could not be stored: %v", err)}
	if slot.Attempts >= x.lastAttempt(slot) {
		small.Outcome = results.Error
		small.Reasons = append(small.Reasons, usedUp(x.cfg.Experiment.Attempts))
	}
	if x.results.Append(small) != nil { // for the same reason
		return "", err
	}
	return small.Outcome, err
}

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
	if err == nil && !x.worked && !x.hooked() {
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
	if changes, _ := x.changes(ctx, nil); len(changes) > 0 { // an error is no reason to warn
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
