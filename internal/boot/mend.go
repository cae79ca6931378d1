package boot

import (
	"errors"
	"fmt"

	"krund/internal/display"
	"krund/internal/schedule"
)

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
