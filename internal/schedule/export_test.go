package schedule

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
