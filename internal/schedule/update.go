package schedule

import (
	"fmt"
	"slices"

	"krund/internal/durable"
)

// Begin marks the slot that Current returns as Running, counts the attempt, and returns the slot
// once both are durable. It begins a slot again that a crash left Running: callers decide whether
// that is allowed after a look at Current. The error is one of Current or of the file.
func (s *Schedule) Begin() (Slot, error) {
	if !s.writable {
		return Slot{}, ErrReadOnly
	}
	slot, err := s.Current()
	if err != nil {
		return Slot{}, err
	}
	slot.Flag = Running
	slot.Attempts++
	if err := s.put(slot); err != nil {
		return Slot{}, fmt.Errorf("begin slot %d: %w", slot.Index, err)
	}
	return slot, nil
}

// Finish durably sets the flag with which an attempt of a slot ended. Outstanding means that the
// slot must run again or never ran. The count of attempts is kept in any case, so that it bounds
// the reruns. Finish uses only Index of slot and, to verify that it is the same slot, Key and
// Pexec. Finishing twice is harmless.
func (s *Schedule) Finish(slot Slot, f Flag) error {
	if !s.writable {
		return ErrReadOnly
	}
	if err := s.finish(slot, f, 0); err != nil {
		return fmt.Errorf("finish slot %d: %w", slot.Index, err)
	}
	return nil
}

// Withdraw durably withdraws the running attempt of a slot: the slot becomes Outstanding and the
// attempt is not counted. It is for an attempt that the user gave up, rather than one that failed
// because of the machine or the benchmark, and that has no record. It does not change a slot that
// is not Running.
func (s *Schedule) Withdraw(slot Slot) error {
	if !s.writable {
		return ErrReadOnly
	}
	stored, err := s.Slot(slot.Index)
	if err == nil && stored.Flag == Running {
		err = s.finish(slot, Outstanding, 1)
	}
	if err != nil {
		return fmt.Errorf("withdraw the attempt of slot %d: %w", slot.Index, err)
	}
	return nil
}

// Forget durably removes the last n attempts of a slot and makes it Outstanding: their records are
// lost, and the slot must run again.
func (s *Schedule) Forget(slot Slot, n int) error {
	if !s.writable {
		return ErrReadOnly
	}
	if err := s.finish(slot, Outstanding, n); err != nil {
		return fmt.Errorf("forget %d attempts of slot %d: %w", n, slot.Index, err)
	}
	return nil
}

// finish writes the flag f and subtracts withdrawn from the count of attempts.
func (s *Schedule) finish(slot Slot, f Flag, withdrawn int) error {
	if !f.Final() && f != Outstanding {
		return fmt.Errorf("a slot cannot end as %s", f)
	}
	stored, err := s.Slot(slot.Index)
	if err != nil {
		return err
	}
	if stored.Key != slot.Key || stored.Pexec != slot.Pexec {
		return fmt.Errorf("the schedule has %s number %d there, not %s number %d", stored.Key, stored.Pexec,
			slot.Key, slot.Pexec)
	}
	if f == Outstanding {
		s.next = min(s.next, slot.Index)
	}
	stored.Flag = f
	stored.Attempts = max(stored.Attempts-withdrawn, 0)
	return s.put(stored)
}

// UpdateHeader lets change modify Reboots, Mails, Boot and BaseTemperatures of the header and makes
// the result durable. It overwrites the older of the two copies, so the other one stays valid even
// if the power fails. After an error the header is unchanged in memory and, unless the disk is
// broken, in the file.
func (s *Schedule) UpdateHeader(change func(*Header)) error {
	if !s.writable {
		return ErrReadOnly
	}
	changed, h := s.Header(), s.header
	change(&changed)
	h.Reboots, h.Mails, h.Boot = changed.Reboots, changed.Mails, changed.Boot
	h.BaseTemperatures = slices.Clone(changed.BaseTemperatures)
	h.Generation++
	h.Next = 0 // an earlier krund then searches from the first slot, too
	target := s.current.other()
	text, err := encodeHeader(h, target)
	if err != nil {
		return err
	}
	if err := s.writeCopy(text, target); err != nil {
		return fmt.Errorf("update the schedule's header: %w", err)
	}
	s.header, s.current, s.damage = h, target, nil
	return nil
}

// writeCopy writes and syncs the sectors of one copy.
func (s *Schedule) writeCopy(text []byte, c copyID) error {
	if len(text) > sectorBytes {
		if _, err := s.file.WriteAt(text[sectorBytes:], c.rest(len(text)/sectorBytes)); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(text[:sectorBytes], c.first()); err != nil {
		return err
	}
	return durable.SyncData(s.file)
}

// put writes and syncs one slot. The line is within one sector: a torn write leaves the old line,
// the new one, or a damaged one, which its checksum detects.
func (s *Schedule) put(slot Slot) error {
	if err := s.inRange(slot.Index); err != nil {
		return err
	}
	line := make([]byte, s.header.Width)
	if err := encodeSlot(line, slot); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(line, s.header.slotAt(slot.Index)); err != nil {
		return err
	}
	return durable.SyncData(s.file)
}

func (s *Schedule) inRange(index int) error {
	if index < 0 || index >= s.header.Slots {
		return fmt.Errorf("there is no slot %d; the schedule has %d", index, s.header.Slots)
	}
	return nil
}
