// Package boot is one boot of the machine, as a straight line.
//
// Read experiment.pass from top to bottom: it is one process execution, and each step returns what
// the next one needs. With reboots the machine makes one pass per boot; with reboot =
// "none" the passes follow each other in one process. experiment.end is the only way out.
//
// The following must hold whenever the power fails: a result that was once durable is never lost
// and never counted twice, the schedule can be read, and attempts and reboots are bounded.
// Therefore an attempt is counted durably before it begins (schedule.Begin), the record is durable
// before the slot is finished, and a boot first finishes a slot whose record is already there
// (reconcile).
//
// The steps touch the machine through System only. cmd/krund fills it with the implementations that
// are here, too: LabMachine joins controls and probes, Rebooter restarts the machine, Room keeps
// space for the results. crash_test.go cuts the power of whole experiments at every write. Start
// reading at pass (boot.go).
package boot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"krund/internal/execution"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// cleanupTime bounds the work after an interruption or failure: hooks, restoring the machine,
// notifications.
const cleanupTime = 2 * time.Minute

// cleanup returns a context for that. The end of ctx does not end it.
func cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
}

// Ending is the reason why Run ended.
type Ending int

// The endings.
const (
	Finished    Ending = iota // nothing is outstanding
	Rebooting                 // the machine is about to restart
	Interrupted               // the context ended; the running slot is outstanding again
	Held                      // this boot is an ordinary one: nothing was touched
	Stopped                   // a stop was requested, and the running execution has finished
	Failed                    // the error says why
	again                     // the next pass follows at once
)

// ErrUnfit is the error when the experiment stops because of the machine: a required setting cannot
// be applied, a hook failed, or the temperatures did not return to the base. The slot stays
// outstanding and its attempt is not counted: repair the machine and start again.
var ErrUnfit = errors.New("the machine is not fit to measure")

// Run runs the experiment in dir, and creates it if it does not exist. Run ends when nothing is
// outstanding, the machine restarts, ctx ends, the experiment cannot continue, is held
// (autostart.FindHold) or a stop was requested (directory.Stop). reboot is one of
// config.RebootModes; it overrides that of cfg.
//
// Errors: *NotOpened, which may hold a *directory.LockedError when another krund works on it, or a
// *directory.OtherConfig; ErrUnfit, ErrReboots, *ChangedPrograms, and those of the files. Run sends
// a notification of all but a *NotOpened, which is left to the caller.
func Run(ctx context.Context, cfg *config.Config, dir, reboot string, sys System) (Ending, error) {
	if why, err := sys.Held(); err != nil || why != "" {
		return Held, notOpened(err)
	}
	x, err := open(ctx, cfg, dir, reboot, sys)
	if errors.Is(err, context.Canceled) {
		return Interrupted, nil
	}
	if err != nil {
		return Failed, notOpened(err)
	}
	ending := again
	for ending == again {
		ending, err = x.pass(ctx)
	}
	return ending, x.end(ctx, ending, err)
}

// experiment is an open experiment.
type experiment struct {
	System
	cfg       *config.Config
	reboot    string
	directory directory.Directory
	lock      *directory.Lock
	schedule  *schedule.Schedule
	editions  []identity.Edition // of the programs, the present one last; none: not known yet
	adopted   bool               // they are not stored yet
	results   *results.Appender
	reader    *results.Reader
	left      int  // slots that are not finished; below 0: not counted yet
	worked    bool // this process has ended a slot
}

// pass is one process execution from start to end.
func (x *experiment) pass(ctx context.Context) (Ending, error) {
	if err := x.reconcile(ctx); err != nil { // a slot that a crash left running
		return Failed, err
	}
	if err := x.finishEarly(ctx, ""); err != nil { // only if a power cut has prevented it
		return Failed, err
	}
	slot, ending, err := x.begin(ctx) // the attempt is counted, durably, before anything can fail
	switch {
	case ending == Rebooting:
		return x.restart(ctx, Applied{})
	case ending != again:
		return ending, err
	}
	x.Progress.Begin(slot, x.count())
	began := x.Clock.Now()
	applied, record, err := x.measure(ctx, slot)
	err = x.conclude(slot, record, err) // the record, then the slot
	after, cancel := cleanup(ctx)
	defer cancel()
	hookErr := x.Hooks.After(after, x.outcomeVariables(slot, record, err))
	if hookErr != nil {
		x.Log.Error("a hook after the execution failed", "error", hookErr)
	}
	if err == nil {
		x.reportOutcome(after, slot, record, x.Clock.Now().Sub(began))
		if err = x.giveUp(slot.Key, record); err == nil {
			err = x.finishEarly(ctx, group(slot.Key))
		}
	}
	if ctx.Err() == nil {
		applied = x.ship(ctx, applied)
	}
	if err == nil {
		if hookErr != nil && x.cfg.Hooks.AfterFailure == config.HookStop {
			err = unfit("hooks", hookErr)
		} else if x.restartsNext(ctx) {
			return x.restart(ctx, applied)
		}
	}
	return x.restore(ctx, after, applied, err)
}

// measure prepares the machine, runs the benchmark and returns the record. Without a record, the
// error says why: the machine is unfit, ctx has ended, or krund could not do its work. What Apply
// changed is returned in any case.
func (x *experiment) measure(ctx context.Context, slot schedule.Slot) (Applied, results.Record, error) {
	defer x.KeepAwake(ctx)()
	job, settled, err := x.settle(ctx, slot)
	if err != nil {
		return Applied{}, results.Record{}, err
	}
	x.Progress.Step("applying settings", 0)
	applied, err := x.Machine.Apply(ctx)
	if err != nil {
		return applied, results.Record{}, unfit("control", err)
	}
	start, err := x.prepare(ctx, slot, &job, applied)
	if err != nil {
		return applied, results.Record{}, err
	}
	if err := x.sameFor(ctx, slot.Key); err != nil {
		return applied, results.Record{}, err
	}
	start.settled = settled
	run, err := x.execute(ctx, job, applied, start)
	if err != nil {
		return applied, results.Record{}, err
	}
	run.observed.Remarks = append(run.observed.Remarks, x.changedMeanwhile(ctx, slot.Key)...)
	return applied, x.judge(slot, start, run, x.lastAttempt(slot)-slot.Attempts), nil
}

// settle prepares what must exist before the machine is changed and can crash: the job, space for
// its record, and the request for the next boot. Then it waits until the boot is over: for a fixed
// time, or until the machine is quiet.
func (x *experiment) settle(ctx context.Context, slot schedule.Slot) (execution.Job, *results.Settle, error) {
	job, err := execution.NewJob(x.cfg, slot.Key)
	if err != nil {
		return job, nil, err
	}
	job.Layout, job.Number = x.layout(slot), slot.Pexec
	if err := x.Room.keep(x.FS); err != nil {
		return job, nil, unfit("room", err)
	}
	if err := x.requestBoot(ctx); err != nil {
		return job, nil, unfit("boot", err)
	}
	x.Progress.Step("settling", x.cfg.Wait.Startup)
	if x.cfg.Wait.Settle == 0 {
		return job, nil, x.Clock.Sleep(ctx, x.cfg.Wait.Startup)
	}
	x.Sync()
	settled, err := x.Machine.Settle(ctx, x.cfg.Wait.Settle, x.cfg.Wait.Startup)
	return job, &settled, err
}

// baseline is the state of the machine from which an execution starts.
type baseline struct {
	settled      *results.Settle       // nil: the wait was a fixed one
	temperatures []results.Temperature // the machine has returned to these
	// about the account and the base temperatures, for the record's process
	findings []string
	remarks  []string // about the wait for the temperatures
}

// prepare runs the hooks, makes the account, links the benchmark anew, writes everything to the
// disks and waits for the base temperatures. It completes the job.
func (x *experiment) prepare(ctx context.Context, slot schedule.Slot, job *execution.Job,
	applied Applied) (start baseline, err error) {
	x.Progress.Step("preparing", 0)
	if err := x.Hooks.Before(ctx, x.variables(slot)); err != nil {
		return start, unfit("hooks", err)
	}
	if err := x.sameFor(ctx, slot.Key); err != nil { // while the disks may be written to
		return start, err
	}
	if x.cfg.Experiment.Account == config.AccountFresh {
		if job.Account, start.findings, err = x.Machine.Account(ctx, applied); err != nil {
			return start, unfit("account", err)
		}
	}
	job.Root, job.Relink.Variables, job.Relink.Scratch = x.Root, x.variables(slot), x.directory.Relinked()
	if err := x.Executor.Relink(ctx, job); err != nil {
		return start, err
	}
	x.Progress.Step("writing to the disks", x.cfg.Wait.Sync)
	x.Sync()
	if err := x.Clock.Sleep(ctx, x.cfg.Wait.Sync); err != nil {
		return start, err
	}
	base, anew, err := x.base(ctx)
	if err != nil {
		return start, unfit("temperature", err)
	}
	start.temperatures, start.findings = base, append(start.findings, anew...)
	x.Progress.Step("waiting for temperatures", x.cfg.Temperature.Timeout)
	if start.remarks, err = x.Machine.Gate(ctx, base); err != nil {
		return start, unfit("temperature", err)
	}
	job.ExtraEnv, job.CPUs, job.Cgroup = applied.Env, applied.CPUs, applied.Cgroup
	job.Frequencies = applied.Frequencies
	return start, nil
}

// observedRun is one run of a benchmark and what was observed around it.
type observedRun struct {
	started  time.Time
	measured execution.Measured
	observed Observation
}

// execute runs the benchmark between two readings of the probes and the settings.
func (x *experiment) execute(ctx context.Context, job execution.Job, applied Applied,
	start baseline) (observedRun, error) {
	after, err := x.Machine.Watch(ctx, applied, start.remarks)
	if err != nil {
		return observedRun{}, unfit("probes", err)
	}
	x.Progress.Step(Running, 0)
	run := observedRun{started: x.Clock.Now()}
	run.measured, err = x.Executor.Execute(ctx, job)
	run.observed = after(context.WithoutCancel(ctx))
	if err != nil {
		return run, fmt.Errorf("run %s: %w", job.Key, err)
	}
	if run.measured.Interrupted {
		return run, context.Cause(ctx)
	}
	return run, nil
}

// unfit marks an error as one of the machine, unless it only says that ctx has ended.
func unfit(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnfit, what, err)
}
