package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"krund/internal/execution"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/schedule"
)

// ErrReboots is returned when the experiment has used up its reboots (experiment.max_reboots).
var ErrReboots = errors.New("the limit of reboots is reached")

// end ends the experiment for this process. It is the only way out once the experiment is locked,
// and is called once. The reason decides what happens to the next boots, to a request to stop, and
// to what the executions needed outside of the results (reserve, account, control group):
//
//	reason       next boots    request to stop  notification             needed by executions
//	Finished     ordinary      removed          finished, if it is new   removed
//	Stopped      ordinary      removed          stopped                  removed
//	Failed       ordinary      stays            stopped, with the error  removed
//	Interrupted  as they were  stays            none                     removed
//	Rebooting    as they were  stays            none                     kept for the next boot
//
// Interrupted is also the reason when the experiment cannot be opened. Stopped removes the request
// after it has made the next boots ordinary: in the other order a power cut between the two would
// lose the request. The error returned contains err and what failed here.
func (x *experiment) end(ctx context.Context, reason Ending, err error) error {
	ctx, cancel := cleanup(ctx)
	defer cancel()
	switch reason {
	case Finished:
		err = x.disableBoots(ctx)
		if _, stopErr := x.directory.Withdraw(directory.Stop); err == nil { // made during the last execution
			err = stopErr
		}
		err = errors.Join(err, x.reportFinished(ctx))
	case Stopped:
		if err = x.disableBoots(ctx); err == nil {
			x.Log.Info("stopped as requested", "file", x.directory.RequestFile(directory.Stop))
			x.notify(ctx, command.Stopped, "stopped as requested", resultsAreSafe)
			_, err = x.directory.Withdraw(directory.Stop)
		}
	case Failed:
		x.Log.Debug("stopped", "error", err) // for the file: the caller prints it
		x.notify(ctx, command.Stopped, "stopped", err.Error()+"\n\n"+resultsAreSafe)
		err = errors.Join(err, x.disableBoots(ctx))
	}
	if x.schedule != nil {
		err = errors.Join(err, x.schedule.Close())
	}
	if reason != Rebooting {
		if cleanErr := errors.Join(x.Room.drop(), x.Cleanup()); cleanErr != nil {
			x.Log.Warn("the cleanup failed", "error", cleanErr)
		}
	}
	return errors.Join(err, x.lock.Release())
}

const resultsAreSafe = "The results so far are safe. `krunctl status` shows them; start krund again to " +
	"continue.\n"

// disableBoots takes krund out of the next boots: it disables the unit and withdraws the request
// for the boot entry.
func (x *experiment) disableBoots(ctx context.Context) error {
	err := x.DisableUnit(ctx)
	if x.Entry != nil {
		err = errors.Join(err, x.Entry.Withdraw(ctx))
	}
	return err
}

// restore restores the machine after an execution that no restart follows. err is what ended the
// execution early, if anything did; ctx is the caller's, which an interruption ends, and after is
// for the work.
func (x *experiment) restore(ctx, after context.Context, applied Applied, err error) (Ending, error) {
	if restoreErr := x.Machine.Restore(after, applied); restoreErr != nil {
		return Failed, errors.Join(err, restoreErr)
	}
	switch {
	case errors.Is(err, context.Canceled), err == nil && ctx.Err() != nil:
		return Interrupted, nil
	case err != nil:
		return Failed, err
	}
	return again, nil
}

// restart counts a reboot, durably, and then asks for it. When there is no reboot after all, it
// restores what was applied.
func (x *experiment) restart(ctx context.Context, applied Applied) (Ending, error) {
	err := x.countReboot()
	kind := x.nextRestart()
	if err == nil {
		err = x.chooseBoot(ctx)
	}
	if err == nil && kind != config.RebootHardware { // only that resets all settings
		if err = x.Machine.Restore(ctx, applied); err == nil {
			applied = Applied{}
		}
	}
	if err == nil {
		err = x.Reboot(ctx, kind)
	}
	if err == nil {
		x.Machine.LeaveToRestart(applied)
		return Rebooting, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err() // which prevented it
	}
	after, cancel := cleanup(ctx)
	defer cancel()
	return x.restore(ctx, after, applied, err)
}

func (x *experiment) countReboot() error {
	used, most := x.schedule.Header().Reboots, x.cfg.Experiment.MaxReboots
	if used >= most {
		return fmt.Errorf("%w: %d of %d (experiment.max_reboots); `krunctl status` shows lost attempts",
			ErrReboots, used, most)
	}
	return x.schedule.UpdateHeader(func(h *schedule.Header) { h.Reboots++ })
}

// requestBoot makes the next boot one in which the experiment continues, if the experiment has a
// boot entry of its own.
func (x *experiment) requestBoot(ctx context.Context) error {
	if x.Entry == nil {
		return nil
	}
	return x.Entry.Ask(ctx)
}

// chooseBoot is requestBoot; if the experiment is held, it makes the next boot an ordinary one.
func (x *experiment) chooseBoot(ctx context.Context) error {
	if why, err := x.Held(); err != nil || why == "" || x.Entry == nil {
		return errors.Join(err, x.requestBoot(ctx))
	}
	return x.Entry.Withdraw(ctx)
}

// restartsNext reports whether another execution follows, in a boot of its own. An error must not
// keep the machine from restarting: the next pass meets it again.
func (x *experiment) restartsNext(ctx context.Context) bool {
	if !x.restarts() || !x.outstanding() || ctx.Err() != nil {
		return false
	}
	stop, err := x.stopRequested()
	return !stop || err != nil
}

// outstanding reports whether a slot is left to run. A damaged slot counts: the next pass reports
// it.
func (x *experiment) outstanding() bool {
	_, err := x.current()
	return !errors.Is(err, schedule.ErrDone)
}

// stopRequested reports whether a stop was requested while slots are outstanding.
func (x *experiment) stopRequested() (bool, error) {
	requested, err := x.directory.Asked(directory.Stop)
	return requested && x.outstanding(), err
}

// restarts reports whether each execution needs a boot of its own.
func (x *experiment) restarts() bool { return config.Restarts(x.reboot) }

// bootKind returns the record's reboot: how the boot of the executions began.
func (x *experiment) bootKind() string {
	if x.restarts() && x.BootKind != "" {
		return x.BootKind
	}
	return x.reboot
}

// nextRestart returns how to restart the machine. It is a hardware restart every hardware_every
// times, and when the experiment is held: the faster kinds lead back to the kernel arguments of
// this boot, and the next boot is to be an ordinary one.
func (x *experiment) nextRestart() string {
	every, count := x.cfg.Experiment.HardwareEvery, x.schedule.Header().Reboots
	if why, err := x.Held(); err != nil || why != "" || every > 0 && count%every == 0 {
		return config.RebootHardware
	}
	return x.reboot
}

// giveUp skips what is outstanding of a key that cannot run: none of its executions was completed,
// and the last experiment.give_up of them failed in the same way. The other keys go on. After a
// power cut before it, the next failure of the key leads here again.
func (x *experiment) giveUp(k key.Key, record results.Record) error {
	most := x.cfg.Experiment.GiveUp
	if most == 0 || record.Outcome != results.Error && record.Outcome != results.Timeout {
		return nil
	}
	var failed, rest []schedule.Slot
	for slot, err := range x.schedule.Slots() {
		switch {
		case err != nil || slot.Key != k: // a damaged slot is rebuilt when its turn comes
		case slot.Flag == schedule.Completed || slot.Flag == schedule.Running:
			return nil
		case slot.Flag == schedule.Error || slot.Flag == schedule.Timeout:
			failed = append(failed, slot)
		case slot.Flag == schedule.Outstanding && slot.Attempts == 0:
			rest = append(rest, slot)
		}
	}
	if len(failed) < most || len(rest) == 0 {
		return nil
	}
	for _, slot := range failed[len(failed)-most:] {
		other, ok, err := x.reader.Latest(slot.Index, slot.Attempts)
		if err != nil || !ok || !record.FailedLike(other) {
			return nil //nolint:nilerr // a record that cannot be read is no evidence
		}
	}
	for _, slot := range rest {
		if err := x.schedule.Finish(slot, schedule.Skipped); err != nil {
			return fmt.Errorf("skip slot %d: %w", slot.Index, err)
		}
		x.left-- // -1 stays below 0: not counted yet
	}
	x.Log.Warn("a key is given up: each of its executions failed in the same way (experiment.give_up)",
		"key", k.String(), "failed", len(failed), "skipped", len(rest), "why", record.Why())
	return nil
}

// variables describe an execution to the hooks before it. The paths are those of the user, so that
// a hook finds the files.
func (x *experiment) variables(slot schedule.Slot) []string {
	return execution.Variables(x.cfg, x.directory.Dir(), slot.Key, slot.Index, slot.Pexec, slot.Attempts)
}

// outcomeVariables describe to the hooks after an execution also how it ended. Outcome and record
// are empty if it has no record: err says why.
func (x *experiment) outcomeVariables(slot schedule.Slot, r results.Record, err error) []string {
	outcome, path := "", ""
	if err == nil {
		name := results.Name{Slot: slot.Index, Attempt: slot.Attempts}
		outcome, path = string(r.Outcome), filepath.Join(x.directory.Results(), name.String())
	}
	return append(x.variables(slot), "KRUND_OUTCOME="+outcome, "KRUND_RECORD="+path)
}

// ship sends what was recorded to the hub, if this machine has joined one. It restores the machine
// first, because a control may have taken the network down, and returns what is still applied.
// Whatever goes wrong, the experiment goes on as planned, and the next shipment sends what is left.
func (x *experiment) ship(ctx context.Context, applied Applied) Applied {
	if x.Ship == nil {
		return applied
	}
	if err := x.Machine.Restore(ctx, applied); err != nil {
		x.Log.Warn("nothing is shipped: the machine was not restored", "error", err)
		return applied
	}
	x.Progress.Step("shipping", 0)
	if err := x.Ship(ctx); err != nil {
		x.Log.Warn("the hub has not received everything; the experiment goes on as planned", "error", err)
	}
	return Applied{}
}

// A RebootMethod is one way to restart the machine. Ask returns nil when the restart is under way.
type RebootMethod struct {
	Name string
	Ask  func(context.Context) error
}

// Rebooter restarts the machine by the first method that works. It asks the init system first, so
// that services stop and file systems are unmounted in order. It restarts the machine by a system
// call only if nothing else answers.
type Rebooter struct {
	Methods []RebootMethod
	// Faster contains the methods that do not restart the hardware, by config.RebootKexec and
	// RebootSoft. When one fails, the hardware is restarted, and the record of the next boot says
	// so.
	Faster map[string]RebootMethod
	Log    *slog.Logger
}

// Reboot restarts the machine in one of the ways of config.RebootModes. It tries the methods in
// order, and returns nil as soon as one is accepted; the init system then ends the process within
// moments. The error joins those of all methods that were tried. Once ctx has ended, Reboot tries
// no further method: krund is being stopped, alone or by the restart, and neither may force the
// machine.
func (r Rebooter) Reboot(ctx context.Context, kind string) error {
	var errs []error
	methods := r.Methods
	if faster, ok := r.Faster[kind]; ok {
		methods = append([]RebootMethod{faster}, methods...)
	}
	for _, method := range methods {
		if ctx.Err() != nil {
			return fmt.Errorf("reboot: %w", errors.Join(append(errs, context.Cause(ctx))...))
		}
		err := method.Ask(ctx)
		if err == nil {
			r.Log.Info("reboot under way", "by", method.Name)
			return nil
		}
		r.Log.Warn("reboot refused", "by", method.Name, "error", err)
		errs = append(errs, fmt.Errorf("%s: %w", method.Name, err))
	}
	return fmt.Errorf("reboot: %w; restart the machine by hand to continue", errors.Join(errs...))
}
