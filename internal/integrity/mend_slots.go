package integrity

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"krund/internal/schedule"
)

func (m *mending) sortedSlots() []int { return slices.Sorted(maps.Keys(m.slots)) }

// change is a slot that gets another flag.
type change struct {
	slot schedule.Slot
	flag schedule.Flag
	why  string
}

// mendSlots gives slots the flag that their records say.
func (m *mending) mendSlots() error {
	s, err := schedule.Open(m.fsys, m.folder.Schedule(), !m.o.DryRun)
	if err != nil {
		return nil //nolint:nilerr // a dry run over a damaged schedule, or nothing to mend; Check says why it cannot be read
	}
	var changes []change
	for slot, err := range s.Slots() {
		if damaged := (*schedule.DamagedSlot)(nil); errors.As(err, &damaged) {
			continue // only in a dry run
		} else if err != nil {
			return errors.Join(err, s.Close())
		}
		if c, ok := m.changeOf(slot); ok {
			changes = append(changes, c)
		}
	}
	for _, c := range changes {
		what := fmt.Sprintf("slot %d was %s and is %s now: %s", c.slot.Index, c.slot.Flag, c.flag, c.why)
		if err := m.step(what, func() error { return s.Finish(c.slot, c.flag) }); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// changeOf says which flag a slot should have instead of its own.
func (m *mending) changeOf(slot schedule.Slot) (change, bool) {
	past := m.slots[slot.Index]
	if past == nil {
		past = &history{}
	}
	past = past.of(slot)
	final, ok := past.Final()
	code, _ := disagreement(slot, past)
	switch {
	case ok && (code == SlotBehind || code == OutcomeDiffers):
		return change{slot, schedule.FlagOf(final.Outcome), fmt.Sprintf("so says the record of attempt %d", final.Name.Attempt)}, true
	case ok && slot.Flag == schedule.Running:
		return change{slot, schedule.FlagOf(final.Outcome), fmt.Sprintf("so says the record of attempt %d", final.Name.Attempt)}, true
	case code == RecordLost:
		return change{slot, schedule.Outstanding, "its record is lost, it will be run again"}, true
	case !ok && slot.Flag.Final() && slot.Flag != schedule.Skipped && len(past.damaged) > 0 && len(past.damaged) == past.broken:
		return change{slot, schedule.Outstanding, "its record is damaged, it will be run again"}, true
	}
	return change{}, false
}
