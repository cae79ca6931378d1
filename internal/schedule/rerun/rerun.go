// Package rerun makes finished slots of an experiment outstanding again. Their records are kept,
// but under names that readers do not take for results: SLOT-ATTEMPT.json.gz becomes
// SLOT-ATTEMPT.json.gz.replaced. The count of attempts goes on, so that no name is used twice.
//
// The slots are first listed in the file reruns of the experiment's directory, and that file is
// removed when all of it is done. After a power cut in between, Complete does the rest: krund calls
// it when it opens the experiment, krunctl before it repairs it. When the file is gone, schedule
// and records agree, and a schedule that is rebuilt from the records keeps the slots outstanding.
//
// The file is text:
//
//	krund-reruns=1    magic and version of the format
//	slot=NUMBER       one line for each slot, in ascending order
//	end
//
// Start reading at Ask and Complete.
package rerun

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
)

// File is the name of the list in the experiment's directory.
const File = "reruns"

const (
	header  = "krund-reruns=1"
	trailer = "end"
)

// ErrDamaged is the error if the list cannot be read.
var ErrDamaged = errors.New("the list " + File + " of slots to run again is damaged; remove the file, then " +
	"request the reruns again (`krunctl run --again`)")

// Ask requests durably that slots run again; Complete does the work. The experiment must be locked.
func Ask(d directory.Directory, slots []int) error {
	slots = slices.Compact(slices.Sorted(slices.Values(slots)))
	var b bytes.Buffer
	fmt.Fprintln(&b, header)
	for _, slot := range slots {
		fmt.Fprintf(&b, "slot=%d\n", slot)
	}
	fmt.Fprintln(&b, trailer)
	const othersRead = 0o644
	if err := durable.WriteFile(d.FS(), filepath.Join(d.Dir(), File), b.Bytes(), othersRead); err != nil {
		return fmt.Errorf("list the slots to run again: %w", err)
	}
	return nil
}

// Pending returns the slots of a request that is not complete, in ascending order; nil if there is
// none. The error may be ErrDamaged.
func Pending(d directory.Directory) ([]int, error) {
	text, err := durable.ReadFile(d.FS(), filepath.Join(d.Dir(), File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of slots to run again: %w", err)
	}
	return parse(string(text))
}

// parse reads the list. It accepts only what Ask writes.
func parse(text string) ([]int, error) {
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	if last < 2 || lines[0] != header || lines[last-1] != trailer || lines[last] != "" {
		return nil, ErrDamaged
	}
	slots := make([]int, 0, last)
	for _, line := range lines[1 : last-1] {
		digits, ok := strings.CutPrefix(line, "slot=")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || strconv.Itoa(n) != digits || n < 0 || n >= schedule.MaxSlots ||
			len(slots) > 0 && n <= slots[len(slots)-1] {
			return nil, ErrDamaged
		}
		slots = append(slots, n)
	}
	return slots, nil
}

// Complete makes the requested slots outstanding again and removes the request. It can be
// interrupted and repeated. It returns the number of slots. The experiment must be locked, and s
// open for writing.
func Complete(d directory.Directory, s *schedule.Schedule) (int, error) {
	slots, err := Pending(d)
	if err != nil || slots == nil {
		return 0, err
	}
	if n := len(slots); n > 0 && slots[n-1] >= s.Header().Slots {
		return 0, ErrDamaged // before anything is changed
	}
	if err := replace(d, slots); err != nil {
		return 0, fmt.Errorf("keep the records of slots that run again: %w", err)
	}
	for _, index := range slots {
		if err := reopen(s, index); err != nil {
			return 0, fmt.Errorf("make slot %d outstanding: %w", index, err)
		}
	}
	if err := d.FS().Remove(filepath.Join(d.Dir(), File)); err != nil {
		return 0, err
	}
	return len(slots), d.FS().SyncDir(d.Dir())
}

// replace renames the records of slots, durably.
func replace(d directory.Directory, slots []int) error {
	list, err := results.NewReader(d.FS(), d.Results()).List()
	if err != nil {
		return err
	}
	for _, name := range list.Records {
		if _, found := slices.BinarySearch(slots, name.Slot); !found {
			continue
		}
		old := filepath.Join(d.Results(), name.String())
		if err := d.FS().Rename(old, filepath.Join(d.Results(), name.Replaced())); err != nil {
			return err
		}
	}
	return d.FS().SyncDir(d.Results())
}

// reopen makes a finished slot outstanding. The reboots of its attempts no longer count, so that
// the slot has as many as at first; they are subtracted last, so that a power cut cannot do it
// twice.
func reopen(s *schedule.Schedule, index int) error {
	slot, err := s.Slot(index)
	if err != nil || !slot.Flag.Final() {
		return err
	}
	if err := s.Finish(slot, schedule.Outstanding); err != nil {
		return err
	}
	return s.UpdateHeader(func(h *schedule.Header) { h.Reboots = max(h.Reboots-slot.Attempts, 0) })
}

// Replaced returns the highest attempt of a slot, below attempt, that was replaced by a rerun; 0 if
// there is none. The attempts of the slot are counted from there.
func Replaced(d directory.Directory, slot, attempt int) int {
	for n := attempt - 1; n >= 1; n-- {
		name := results.Name{Slot: slot, Attempt: n}
		if _, err := d.FS().Lstat(filepath.Join(d.Results(), name.Replaced())); err == nil {
			return n
		}
	}
	return 0
}

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
