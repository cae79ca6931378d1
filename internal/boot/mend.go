package boot

import (
	"errors"
	"fmt"
	"time"

	"krund/internal/config"
	"krund/internal/results"
	"krund/internal/schedule"
)

// Source is what the schedule of an experiment is rebuilt from when it is damaged: the plan follows from the configuration, the state of a slot from its
// records. An attempt that left no record is not known any more. The limit of attempts that a machine's crashes may use then starts anew for
// that one slot; nothing that was measured is.
func Source(cfg *config.Config, records *results.Reader, created time.Time) schedule.Source {
	e := cfg.Experiment
	return schedule.Source{
		Header: schedule.Header{
			ConfigHash: cfg.Hash, Order: e.Order, Seed: e.Seed, Created: created.UTC().Format(time.RFC3339), Sensors: spareSensors,
			Mails: cfg.Notify.MaxMails, // how many were sent is unknown: rather none than too many
		},
		Plan: schedule.Plan(cfg.Keys(), e.Executions, e.Order, e.Seed),
		State: func(planned schedule.Slot) (schedule.Slot, error) {
			record, ok, err := records.Latest(planned.Index, max(e.Attempts, maxAttempts))
			if err != nil || !ok {
				return planned, err
			}
			planned.Flag, planned.Attempts = schedule.FlagOf(record.Outcome), record.Attempt
			return planned, nil
		},
	}
}

const (
	spareSensors = 64  // room for base temperatures in a header made anew, whatever the machine has
	maxAttempts  = 100 // how many attempts a configuration may allow
)

// mend rebuilds damaged slots from the results, copying the schedule aside first, and opens it again.
func (x *experiment) mend() error {
	if err := x.schedule.Close(); err != nil {
		return err
	}
	x.schedule = nil
	report, err := schedule.Repair(x.FS, x.folder.Schedule(), Source(x.cfg, x.reader, x.Clock.Now()))
	if err != nil {
		return fmt.Errorf("rebuild the damaged schedule from the results: %w", err)
	}
	x.Log.Warn("the schedule was damaged and has been rebuilt from the results", "slots", fmt.Sprint(report.Slots), "copy", report.Backup)
	x.schedule, err = schedule.Open(x.FS, x.folder.Schedule(), true)
	return err
}

// current is schedule.Current that mends damaged slots.
func (x *experiment) current() (schedule.Slot, error) {
	slot, err := x.schedule.Current()
	var damaged *schedule.DamagedSlot
	if !errors.As(err, &damaged) {
		return slot, err
	}
	if err := x.mend(); err != nil {
		return slot, err
	}
	return x.schedule.Current()
}
