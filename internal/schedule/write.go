package schedule

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"krund/internal/durable"
)

// Create creates the schedule of n slots at path, durably and atomically. It never replaces an
// existing one: the error then wraps fs.ErrExist. It ranges over slots twice, first to find the
// longest key. See Header for what h must contain; if h.Width is 0, Create chooses it.
func Create(fsys durable.FS, path string, h Header, n int, slots iter.Seq[Slot]) error {
	switch _, err := fsys.Lstat(path); {
	case err == nil:
		return fmt.Errorf("create %s: %w; `krund` continues it; to start over, remove its directory", path,
			fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create the schedule: %w", err)
	}
	h, err := shape(h, n, slots)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return write(fsys, path, h, slots)
}

// shape fills in the fields that follow from the number of slots and the longest key.
func shape(h Header, n int, slots iter.Seq[Slot]) (Header, error) {
	longest := 0
	for s := range slots {
		longest = max(longest, len(s.Key.String()))
	}
	h.Version, h.Generation, h.Slots, h.Next = Version, 1, n, 0
	h.Width = cmp.Or(h.Width, widthFor(longest))
	if h.Sectors == 0 {
		h.Sectors = sectorsFor(h)
	}
	return h, h.check()
}

// write writes a complete new file.
func write(fsys durable.FS, path string, h Header, slots iter.Seq[Slot]) error {
	const readable = 0o644 // krunctl runs without privileges
	return durable.WriteTo(fsys, path, readable, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, blockBytes)
		if err := writeHeaders(buffered, h); err != nil {
			return err
		}
		if err := writeSlots(buffered, h, slots); err != nil {
			return err
		}
		return buffered.Flush()
	})
}

// writeHeaders writes both copies, which differ only in their letter, in file order: the first
// sectors, then the others.
func writeHeaders(w io.Writer, h Header) error {
	var first, rest []byte
	for c := range copyID(copies) {
		text, err := encodeHeader(h, c)
		if err != nil {
			return err
		}
		first = append(first, text[:sectorBytes]...)
		rest = append(rest, text[sectorBytes:]...)
	}
	_, err := w.Write(append(first, rest...))
	return err
}

func writeSlots(w io.Writer, h Header, slots iter.Seq[Slot]) error {
	line := make([]byte, h.Width)
	index := 0
	for s := range slots {
		if s.Index != index {
			return fmt.Errorf("got slot %d in place of slot %d", s.Index, index)
		}
		if err := encodeSlot(line, s); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		index++
	}
	if index != h.Slots {
		return fmt.Errorf("there are %d slots instead of %d", index, h.Slots)
	}
	return nil
}

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
	return s.file.SyncData()
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
	return s.file.SyncData()
}

func (s *Schedule) inRange(index int) error {
	if index < 0 || index >= s.header.Slots {
		return fmt.Errorf("there is no slot %d; the schedule has %d", index, s.header.Slots)
	}
	return nil
}
