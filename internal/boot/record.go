package boot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"krund/internal/execution"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/probe"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
)

// emptyRecord returns a record that contains only what was planned.
func (x *experiment) emptyRecord(slot schedule.Slot) results.Record {
	vm, _, benchmark, _ := x.cfg.Lookup(slot.Key) // the key is from this configuration
	return results.Record{
		Key: slot.Key, Krund: x.Version, Experiment: x.cfg.Experiment.Name,
		ConfigHash: x.cfg.Hash, Host: x.Host,
		Slot: slot.Index, Attempt: slot.Attempts, Pexec: slot.Pexec, Edition: x.edition(),
		Parameter: int64(benchmark.Parameter), Iterations: x.cfg.Iterations(slot.Key),
		Instrument: vm.Instrument,
		Reasons:    []string{}, Reboot: x.bootKind(), BootID: x.BootID, Started: x.Clock.Now().UTC(),
		CounterSource: "none",
	}
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
	r, m, seen := x.emptyRecord(slot), run.measured, run.observed
	r.Started = run.started.UTC()
	r.Clock = m.Clock
	r.CounterSource, r.CounterReason = m.CounterSource, m.CounterReason
	r.Startup, r.StartNS, r.WallNS, r.Columns, r.Totals, r.Library = m.Startup, m.StartNS, m.WallNS,
		m.Columns, m.Totals, m.Library
	r.Events, r.EventsLost, r.Switches = m.Events, m.EventsLost, m.Switches
	r.Energy, r.Frequencies = m.Energy, m.Frequencies
	r.Layout, r.Watcher, r.Process, r.Daemon = m.Layout, m.Watcher, m.Process, m.Daemon
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
