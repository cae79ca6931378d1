// Package boot is one boot of the machine, as a straight line.
//
// Read experiment.pass from top to bottom: it is the whole story of one process execution, and each step hands a value to the next. With reboot =
// "hardware" the machine makes one pass per boot; with reboot = "none" the passes follow each other in one process.
//
// What must hold, whenever the power fails: a result that was once durable is never lost and never counted twice, the schedule can be read,
// and neither attempts nor reboots are unbounded. Therefore an attempt is counted durably before it begins (schedule.Begin), the record is
// durable before the slot is finished, and the first thing a boot does is to finish a slot whose record is already there (reconcile).
//
// The package touches the machine through System only. crash_test.go cuts the power of whole experiments at every write.
package boot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"krund/internal/command"
	"krund/internal/config"
	"krund/internal/directory"
	"krund/internal/pexec"
	"krund/internal/results"
	"krund/internal/schedule"
)

// cleanupTime bounds what is done after an interruption or failure: hooks, restoring the machine, telling people.
const cleanupTime = 2 * time.Minute

// cleanup returns a context for that: the end of ctx does not end it.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}

// Ending says how Run ended when nothing went wrong.
type Ending int

// The endings.
const (
	Finished    Ending = iota // nothing is outstanding
	Rebooting                 // the machine is about to restart
	Interrupted               // the context ended; the running slot is outstanding again
	Held                      // somebody wants an ordinary boot: nothing was touched
	Stopped                   // somebody asked to stop, and what was running has finished
	again                     // the next pass follows at once
)

// ErrUnfit is in the error when the experiment stops because of the machine: a required setting cannot be had, a hook failed, temperatures
// do not return. The slot is outstanding and its attempt not counted: mend the machine and start again.
var ErrUnfit = errors.New("the machine is not fit to measure")

// Run works on the experiment in dir, starting it when there is none, until nothing is outstanding, the machine restarts, ctx ends or the
// experiment cannot go on; or somebody wants it held (package hold) or stopped (directory.Stop). reboot is config.RebootHardware or
// config.RebootNone, whatever cfg says: the caller may override it.
//
// Errors: *NotOpened, which may hold a *directory.LockedError when another krund works on it, or an *OtherConfig; ErrUnfit, ErrReboots, and those of
// the files. People are told of all but a *NotOpened, which is the caller's to tell.
func Run(ctx context.Context, cfg *config.Config, dir, reboot string, sys System) (Ending, error) {
	if why, err := sys.Held(); err != nil || why != "" {
		return Held, notOpened(err)
	}
	x, err := open(ctx, cfg, dir, reboot, sys)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return Interrupted, nil
		}
		return 0, notOpened(err)
	}
	ending := again
	for ending == again && err == nil {
		ending, err = x.pass(ctx)
	}
	return ending, errors.Join(err, x.close())
}

// experiment is an open experiment.
type experiment struct {
	System
	cfg       *config.Config
	reboot    string
	directory directory.Directory
	lock      *directory.Lock
	schedule  *schedule.Schedule
	results   *results.Appender
	reader    *results.Reader
	left      int  // slots that are not finished; below 0: not counted yet
	worked    bool // this process has ended a slot
	rebooting bool // the machine is about to restart
}

// pass is one process execution from start to end: the line that the package is about.
func (x *experiment) pass(ctx context.Context) (Ending, error) {
	if err := x.reconcile(ctx); err != nil { // what a crash left open
		return 0, x.stop(ctx, err)
	}
	if asked, err := x.askedToStop(); err != nil || asked {
		return Stopped, x.obey(ctx, err)
	}
	slot, err := x.begin() // the attempt is counted, durably, before anything can fail
	switch {
	case errors.Is(err, schedule.ErrDone):
		return x.finish(ctx)
	case errors.Is(err, errUsedBoot):
		return x.restart(ctx, Applied{})
	case err != nil:
		return 0, x.stop(ctx, err)
	}
	x.Progress.Begin(slot, x.count())
	began := x.Clock.Now()

	applied, record, err := x.measure(ctx, slot) // settle, controls, hooks, account, sync, temperatures, the run, the verdict
	if err == nil {
		err = x.store(slot, record) // the record, then the slot
	} else if withdrawErr := x.schedule.Withdraw(slot); withdrawErr != nil { // nothing was measured: the attempt does not count
		err = fmt.Errorf("%w; after: %s", withdrawErr, err.Error())
	}
	after, cancel := cleanup(ctx)
	defer cancel()
	if hookErr := x.Hooks.After(after); hookErr != nil { // always
		x.Log.Error("hooks after the execution", "error", hookErr)
	}
	if err != nil {
		undoErr := x.Machine.Restore(after, applied)
		if errors.Is(err, context.Canceled) && undoErr == nil {
			x.Log.Info("interrupted; the slot is outstanding again", "slot", slot.Index, "key", slot.Key.String())
			return Interrupted, nil
		}
		return 0, x.stop(after, errors.Join(err, undoErr))
	}
	x.Progress.End(slot, x.count(), record.Outcome, record.Reasons, x.Clock.Now().Sub(began))
	x.Log.Debug("execution ended", "slot", slot.Index, "key", slot.Key.String(), "attempt", slot.Attempts, // for the file: people have Progress
		"outcome", string(record.Outcome), "reasons", strings.Join(record.Reasons, "; "))
	x.flag(after, slot, record)
	if x.hardware() && x.outstanding() && !x.stopping() && ctx.Err() == nil {
		return x.restart(ctx, applied)
	}
	if err := x.Machine.Restore(after, applied); err != nil {
		return 0, x.stop(after, err)
	}
	if ctx.Err() != nil {
		return Interrupted, nil
	}
	return again, nil
}

// measure does all between the beginning of an attempt and its record. The error means that no record can be made: the machine is unfit, ctx ended,
// or krund could not do its work. The Applied is to be restored in any case.
func (x *experiment) measure(ctx context.Context, slot schedule.Slot) (Applied, results.Record, error) {
	job, err := pexec.NewJob(x.cfg, slot.Key)
	if err != nil {
		return Applied{}, results.Record{}, err
	}
	if err := x.Room.keep(x.FS); err != nil {
		return Applied{}, results.Record{}, unfit("room", err)
	}
	if err := x.askForBoot(ctx); err != nil { // before anything can crash the machine: the next boot goes on
		return Applied{}, results.Record{}, unfit("boot", err)
	}
	if err := x.Clock.Sleep(ctx, x.cfg.Wait.Startup); err != nil {
		return Applied{}, results.Record{}, err
	}
	applied, err := x.Machine.Apply(ctx)
	if err != nil {
		return applied, results.Record{}, unfit("control", err)
	}
	if err := x.Hooks.Before(ctx); err != nil {
		return applied, results.Record{}, unfit("hooks", err)
	}
	remarks, err := x.account(ctx, &job, applied)
	if err != nil {
		return applied, results.Record{}, unfit("account", err)
	}
	x.Sync()
	if err := x.Clock.Sleep(ctx, x.cfg.Wait.Sync); err != nil {
		return applied, results.Record{}, err
	}
	base, anew, err := x.base(ctx)
	if err != nil {
		return applied, results.Record{}, unfit("temperature", err)
	}
	remarks = append(remarks, anew...)
	gate, err := x.Machine.Gate(ctx, base)
	if err != nil {
		return applied, results.Record{}, unfit("temperature", err)
	}
	job.ExtraEnv, job.CPUs, job.Cgroup, job.Root = applied.Env, applied.CPUs, applied.Cgroup, x.Root
	watched, err := x.Machine.Watch(ctx, gate)
	if err != nil {
		return applied, results.Record{}, unfit("probes", err)
	}
	started := x.Clock.Now()
	measured, err := x.Executor.Execute(ctx, job)
	seen := watched(context.WithoutCancel(ctx))
	if err != nil {
		return applied, results.Record{}, fmt.Errorf("run %s: %w", slot.Key, err)
	}
	if measured.Interrupted {
		return applied, results.Record{}, context.Cause(ctx)
	}
	measured.Process.Findings = append(append([]string{}, remarks...), measured.Process.Findings...) // never nil: that means unknown
	record := x.record(slot, started, measured)
	record.Machine = seen.Machine
	record.Machine.Controls = applied.Controls
	record.Machine.Temperatures.Base = temperatures(base)
	x.judge(&record, measured, seen)
	return applied, record.Bounded(), nil
}

// unfit marks an error as the machine's, unless it only says that ctx ended.
func unfit(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnfit, what, err)
}

// account makes the account that the job runs as. The remarks go into the record.
func (x *experiment) account(ctx context.Context, job *pexec.Job, applied Applied) ([]string, error) {
	if x.cfg.Experiment.Account != config.AccountFresh {
		return nil, nil
	}
	account, remarks, err := x.Machine.Account(ctx, applied)
	job.Account = account
	return remarks, err
}

// store makes the record durable and then finishes the slot, in this order: a crash between the two is mended by reconcile, and so is an error,
// which leaves the slot running because nobody knows whether the record is there.
func (x *experiment) store(slot schedule.Slot, record results.Record) error {
	x.worked = true
	outcome, err := x.append(slot, record)
	if err != nil {
		err = fmt.Errorf("store the record of slot %d: %w; nothing else is lost: "+
			"start krund again when the disk is in order", slot.Index, err)
	}
	if outcome == "" {
		return err
	}
	flag := schedule.FlagOf(outcome)
	if finishErr := x.schedule.Finish(slot, flag); err != nil || finishErr != nil {
		return errors.Join(err, finishErr)
	}
	if flag.Final() {
		x.left-- // a slot that is not counted yet is not counted later
	}
	return nil
}

// count is for Progress, and counts the slots once: nobody else works on them. When they cannot be read all that follow are said to be left; the
// next pass meets the error.
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

// flag tells people about a record that needs a look.
func (x *experiment) flag(ctx context.Context, slot schedule.Slot, r results.Record) {
	remarks := append(append([]string{}, r.Reasons...), r.Machine.KernelLog.Lines...)
	if r.Outcome == results.Completed && len(remarks) == 0 {
		return
	}
	x.tell(ctx, command.Flagged, fmt.Sprintf("%s, execution %d: %s", slot.Key, slot.Pexec, r.Outcome),
		fmt.Sprintf("slot %d, attempt %d\n%s", slot.Index, slot.Attempts, bullets(remarks)))
}
