package schedule

import (
	"errors"
	"os"

	"krund/internal/experiment/key"
)

// SetHint writes a correct or incorrect hint into both copies of the header.
func (s *Schedule) SetHint(next int) error {
	for range copies {
		if err := s.update(func(h *Header) { h.Next = next }); err != nil {
			return err
		}
	}
	return nil
}

// SlotOffset returns the offset of a slot in the file.
func (h Header) SlotOffset(index int) int64 { return h.slotAt(index) }

// WriteHeaders creates a file for n slots that contains only the headers.
func WriteHeaders(name string, h Header, n, next int) error {
	h.Slots, h.Next = n, next
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(writeHeaders(f, h), f.Close())
}

// Each is the executions of a Plan with the same number for all keys.
func Each(executions int) func(key.Key) int { return func(key.Key) int { return executions } }
