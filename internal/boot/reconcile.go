package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"krund/internal/display"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/schedule"
)

// reconcile closes a slot that was left running: with its record if that is durable, otherwise by
// counting the attempt as lost. It can be interrupted and repeated any number of times.
func (x *experiment) reconcile(ctx context.Context) error {
	slot, err := x.current()
	if errors.Is(err, schedule.ErrDone) {
		return nil
	}
	if err != nil {
		return err
	}
	if slot.Flag != schedule.Running {
		return nil
	}
	x.clean()
	record, err := x.reader.Load(results.Name{Slot: slot.Index, Attempt: slot.Attempts})
	switch {
	case err == nil:
		// The record has its final name. Whether the name is durable is unknown if the attempt was
		// interrupted after renaming.
		if err := x.FS.SyncDir(x.directory.Results()); err != nil {
			return fmt.Errorf("make the record of slot %d durable: %w", slot.Index, err)
		}
		x.worked = true
		x.Log.Info("the record of a slot left running is complete", "slot", slot.Index, "outcome",
			string(record.Outcome))
		return x.schedule.Finish(slot, schedule.FlagOf(record.Outcome))
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("slot %d was left running and its record cannot be read: %w; `krunctl "+
			"check` shows details, `krunctl repair` repairs it", slot.Index, err)
	}
	if x.BootID != "" && x.BootID == x.schedule.Header().Boot && !x.restarts() {
		// Only krund ended, not the machine, and a person has started it again. There is no reason
		// to count the attempt.
		x.Log.Warn("krund ended in the middle of an execution; it is repeated", "slot", slot.Index, "key",
			slot.Key.String(), "why", whyKrundEnded)
		if err := x.schedule.Withdraw(slot); err != nil {
			return err
		}
		x.notify(ctx, command.Flagged, "krund was started again after it was killed or crashed",
			fmt.Sprintf("slot %d, %s, execution %d, is repeated; the attempt does not count.\nThe krund "+
				"that began it: %s.\n",
				slot.Index, slot.Key, slot.Pexec, whyKrundEnded))
		return nil
	}
	return x.lose(ctx, slot)
}

// clean removes the temporary files of interrupted writes. Nothing else writes: the experiment is
// locked.
func (x *experiment) clean() {
	removed, err := x.directory.Clean()
	for _, name := range removed {
		x.Log.Info("removed a temporary file of an interrupted write", "file", name)
	}
	if err != nil {
		x.Log.Warn("temporary files remain; they are harmless", "error", err)
	}
}

// lose counts an attempt that did not end, with a record of its own.
func (x *experiment) lose(ctx context.Context, slot schedule.Slot) error {
	o := lost(slot.Attempts, x.lastAttempt(slot), x.cfg.Experiment.Attempts, x.BootID != "" &&
		x.BootID == x.schedule.Header().Boot)
	x.Log.Warn("an attempt was lost", "slot", slot.Index, "key", slot.Key.String(), "attempt", slot.Attempts,
		"outcome", string(o.Outcome))
	record := x.planned(slot, results.Record{})
	record.Outcome, record.Reasons = o.Outcome, o.Reasons
	// the boot of the attempt, not this one, which is about to have an attempt of its own
	record.BootID = x.schedule.Header().Boot
	if err := x.store(slot, record); err != nil {
		return err
	}
	x.notifyOutcome(ctx, slot, record)
	return nil
}

// whyKrundEnded lists the possible reasons why an earlier krund ended in this boot: if it had ended
// in order, the slot would not be left running.
const whyKrundEnded = "it was killed (by the kernel because memory ran out, or by a user), crashed, or " +
	"could not store the record; see the system's journal and the experiment's log"

// lost returns the outcome of a lost attempt. last is the highest attempt that the slot may have,
// most their number. sameBoot: krund ended, not the machine.
func lost(attempt, last, most int, sameBoot bool) verdict.Judgment {
	reason := fmt.Sprintf("the machine or krund stopped in the middle of attempt %d (power cut, crash, "+
		"reset, or krund was killed)", attempt)
	if sameBoot {
		reason = fmt.Sprintf("krund, not the machine, stopped in the middle of attempt %d: %s",
			attempt, whyKrundEnded)
	}
	o := verdict.Judgment{Outcome: results.Rerun, Reasons: []string{reason}}
	if attempt >= last {
		o.Outcome = results.Error
		o.Reasons = append(o.Reasons, usedUp(most))
	}
	return o
}

func usedUp(most int) string {
	return fmt.Sprintf("all %d attempts are used up (experiment.attempts)", most)
}

// begin starts the next attempt. The ending is again, or the reason why none begins. In hardware
// mode each boot is used only once, even if krund was killed and started again in it: the reason is
// then Rebooting, because the machine must restart before the next attempt.
func (x *experiment) begin(ctx context.Context) (schedule.Slot, Ending, error) {
	none := schedule.Slot{}
	if stop, err := x.stopRequested(); err != nil {
		return none, Failed, err
	} else if stop {
		return none, Stopped, nil
	}
	_, err := x.schedule.Current()
	if errors.Is(err, schedule.ErrDone) {
		return none, Finished, nil
	}
	if err == nil {
		err = x.sameBefore(ctx)
	}
	if errors.Is(err, context.Canceled) {
		return none, Interrupted, nil
	}
	last := x.schedule.Header().Boot
	if err == nil && x.restarts() && last == x.BootID && x.BootID != "" {
		return none, Rebooting, nil
	}
	if err == nil && last != x.BootID {
		err = x.schedule.UpdateHeader(func(h *schedule.Header) { h.Boot = x.BootID })
	}
	if err != nil {
		return none, Failed, err
	}
	slot, err := x.schedule.Begin()
	if err != nil {
		return none, Failed, err
	}
	return slot, again, nil
}

// mend copies the schedule aside, rebuilds its damaged slots from the results and opens it again.
func (x *experiment) mend() error {
	if err := x.schedule.Close(); err != nil {
		return err
	}
	var report schedule.RepairReport
	source, repairErr := x.source()
	if repairErr == nil {
		report, repairErr = schedule.Repair(x.FS, x.directory.Schedule(), source)
	}
	// even if the repair failed: mails are counted in the header
	s, err := schedule.Open(x.FS, x.directory.Schedule(), true)
	if err == nil {
		x.schedule = s
	}
	if repairErr != nil {
		return fmt.Errorf("rebuild the damaged schedule from the results: %w; `krunctl check %s` "+
			"shows details, `krunctl repair %[2]s` repairs it", repairErr,
			display.ShellPath(x.directory.Dir()))
	}
	x.Log.Warn("the schedule was damaged and has been rebuilt from the results", "slots",
		fmt.Sprint(report.Slots), "copy", report.Backup)
	return err
}

// source returns what damaged slots are rebuilt from. It does not rebuild the header: if both
// copies are lost, the schedule cannot be opened, and a person must decide.
func (x *experiment) source() (schedule.Source, error) {
	stages, err := x.stages()
	if stages == nil {
		stages = schedule.StagesOf(x.cfg)
	}
	return schedule.NewSource(stages, schedule.NewHeader(x.cfg, schedule.Facts{}, x.Clock.Now()),
		func(slot int) (schedule.History, error) {
			return schedule.ReadHistory(x.reader, slot, schedule.MaxAttempts)
		}), err
}

// current is schedule.Current, but repairs damaged slots.
func (x *experiment) current() (schedule.Slot, error) {
	slot, err := x.schedule.Current()
	if _, damaged := errors.AsType[*schedule.DamagedSlot](err); !damaged {
		return slot, err
	}
	if err := x.mend(); err != nil {
		return slot, err
	}
	return x.schedule.Current()
}
