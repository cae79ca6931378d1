package integrity

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"krund/internal/schedule"
)

func (m *mending) sortedSlots() []int { return slices.Sorted(maps.Keys(m.slots)) }

// change is a slot that gets a different flag.
type change struct {
	slot   schedule.Slot
	flag   schedule.Flag
	why    string
	forget int // number of trailing attempts of an outstanding slot whose records are lost
}

// mendSlots gives each slot the flag according to its records.
func (m *mending) mendSlots() error {
	s, err := schedule.Open(m.fsys, m.directory.Schedule(), !m.o.DryRun)
	if err != nil {
		return nil //nolint:nilerr // nothing to repair, or a dry run; Check reports the damage
	}
	var changes []change
	for slot, err := range s.Slots() {
		if _, ok := errors.AsType[*schedule.DamagedSlot](err); ok {
			continue // only in a dry run
		} else if err != nil {
			return errors.Join(err, s.Close())
		}
		if c, ok := m.changeOf(slot); ok {
			changes = append(changes, c)
		}
	}
	for _, c := range changes {
		what := fmt.Sprintf("slot %d changed from %s to %s: %s", c.slot.Index, c.slot.Flag, c.flag, c.why)
		err := m.step(what, func() error {
			if c.forget > 0 {
				return s.Forget(c.slot, c.forget)
			}
			return s.Finish(c.slot, c.flag)
		})
		if err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// changeOf returns the flag that a slot should have, if it differs.
func (m *mending) changeOf(slot schedule.Slot) (change, bool) {
	if _, again := slices.BinarySearch(m.pending, slot.Index); again {
		return change{}, false
	}
	past := m.slots[slot.Index]
	if past == nil {
		past = &history{}
	}
	past = past.of(slot)
	final, ok := past.Final()
	code, _ := disagreement(slot, past)
	switch {
	case ok && (code == SlotBehind || code == OutcomeDiffers):
		return change{slot, schedule.FlagOf(final.Outcome),
			fmt.Sprintf("according to the record of attempt %d",
				final.Name.Attempt), 0}, true
	case ok && slot.Flag == schedule.Running:
		return change{slot, schedule.FlagOf(final.Outcome),
			fmt.Sprintf("according to the record of attempt %d",
				final.Name.Attempt), 0}, true
	case code == RecordLost:
		forget := 0
		for missing := past.missing(slot); slices.Contains(missing, slot.Attempts-forget); {
			forget++
		}
		return change{slot, schedule.Outstanding, "its record is lost, so it will run again", forget}, true
	case !ok && slot.Flag.Final() && slot.Flag != schedule.Skipped && len(past.damaged) > 0 &&
		len(past.damaged) == past.broken:
		return change{slot, schedule.Outstanding, "its record is damaged, so it will run again", 0}, true
	}
	return change{}, false
}
