package boot

import (
	"fmt"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

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
