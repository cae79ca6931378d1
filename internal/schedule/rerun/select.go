package rerun

import (
	"fmt"
	"slices"

	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/schedule"
)

// Selection selects finished slots; what is empty selects all.
type Selection struct {
	Flags []schedule.Flag
	Slots []int
	Keys  *key.Pattern
}

// Of returns the slots of s that the selection selects. It is an error if one cannot run again,
// such as one that was named and has not ended.
func (o Selection) Of(s *schedule.Schedule) ([]schedule.Slot, error) {
	for _, index := range o.Slots {
		slot, err := s.Slot(index)
		if err == nil && !slot.Flag.Final() {
			err = fmt.Errorf("slot %d is %s already", index, slot.Flag)
		}
		if err != nil {
			return nil, err
		}
	}
	var list []schedule.Slot
	for slot, err := range s.Slots() {
		if err != nil {
			return nil, err
		}
		if !slot.Flag.Final() || len(o.Flags) > 0 && !slices.Contains(o.Flags, slot.Flag) ||
			len(o.Slots) > 0 && !slices.Contains(o.Slots, slot.Index) ||
			o.Keys != nil && !o.Keys.Match(slot.Key) {
			continue
		}
		if slot.Attempts > schedule.MaxAttempts-config.MaxAttempts {
			return nil, fmt.Errorf("slot %d has had %d attempts, and the schedule counts %d", slot.Index,
				slot.Attempts, schedule.MaxAttempts)
		}
		list = append(list, slot)
	}
	return list, nil
}

// Again makes slots outstanding again, as Ask and Complete do.
func Again(d directory.Directory, s *schedule.Schedule, slots []schedule.Slot) error {
	indexes := make([]int, len(slots))
	for i, slot := range slots {
		indexes[i] = slot.Index
	}
	if err := Ask(d, indexes); err != nil {
		return err
	}
	_, err := Complete(d, s)
	return err
}
