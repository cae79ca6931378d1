package schedule

import (
	"errors"
	"os"
)

// SetHint writes a hint, right or wrong, into both copies of the header.
func (s *Schedule) SetHint(next int) error {
	for range copies {
		if err := s.update(func(h *Header) { h.Next = next }); err != nil {
			return err
		}
	}
	return nil
}

// SlotOffset returns where a slot is in the file.
func (h Header) SlotOffset(index int) int64 { return h.slotAt(index) }

// WriteHeaders makes a file of n slots at name that has only its headers.
func WriteHeaders(name string, h Header, n, next int) error {
	h.Slots, h.Next = n, next
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(writeHeaders(f, h), f.Close())
}
