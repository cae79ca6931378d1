package schedule

import (
	"errors"
	"iter"
	"slices"
)

// The number of slots that are read at once: few at first, because the first one usually is the
// wanted one, then many.
const (
	firstBlockBytes = 4 << 10
	blockBytes      = 64 << 10
)

// lookBack is the size in bytes of the slots before the hint that are checked before the hint is
// trusted. Schedules of up to 2048 ordinary slots are checked completely.
const lookBack = 256 << 10

// position is what is known about the location of the next slot.
type position struct {
	known bool // the hint was verified
	// Every slot in [low, next) was found to be finished.
	low, next int
}

// Current returns the slot to run next, as stored in the file: the first one that is Running (begun
// before a crash) or Outstanding. It changes nothing. The error is ErrDone if every slot is
// finished, and a *DamagedSlot if a slot that had to be read is damaged.
//
// It starts reading at the header's hint, but does not trust it blindly: if the hint is out of
// range, or an unfinished slot is found before it, the search starts at slot 0. Every slot has been
// read before it returns ErrDone.
func (s *Schedule) Current() (Slot, error) {
	if !s.place.known {
		if err := s.verifyHint(); err != nil {
			return Slot{}, err
		}
	}
	found, err := s.firstUnfinished(s.place.next, s.header.Slots)
	if err != nil {
		return Slot{}, err
	}
	if found == s.header.Slots {
		found, err = s.firstUnfinished(0, s.place.low)
		if err != nil {
			return Slot{}, err
		}
		if found == s.place.low {
			s.place = position{known: true, low: 0, next: s.header.Slots}
			return Slot{}, ErrDone
		}
		s.place.low = found
	}
	s.place.next = found
	return s.Slot(found)
}

// verifyHint sets the position to the header's hint, or to the start if the hint is wrong.
func (s *Schedule) verifyHint() error {
	s.place = position{known: true}
	hint := s.header.Next
	if hint > s.header.Slots {
		return nil
	}
	low := max(0, hint-lookBack/s.header.Width)
	found, err := s.firstUnfinished(low, hint)
	if err != nil {
		s.place.known = false
		return err
	}
	if found == hint {
		s.place.low, s.place.next = low, hint
	}
	return nil
}

// firstUnfinished returns the index of the first unfinished slot in [from, to), or to if there is
// none.
func (s *Schedule) firstUnfinished(from, to int) (int, error) {
	for index, line := range s.lines(from, to) {
		if line.err != nil {
			return 0, line.err
		}
		f, reason := peekSlot(line.text)
		if reason != "" {
			return 0, &DamagedSlot{Index: index, Reason: reason}
		}
		if !f.Final() {
			return index, nil
		}
	}
	return to, nil
}

// line is a slot's line, valid until the next one is read, or the error that ends the iteration.
type line struct {
	text []byte
	err  error
}

// lines reads the slots in [from, to) block by block. A line that looks damaged is read again,
// because it may be being written.
func (s *Schedule) lines(from, to int) iter.Seq2[int, line] {
	width := s.header.Width
	return func(yield func(int, line) bool) {
		var block []byte
		for size := firstBlockBytes; from < to; size = blockBytes {
			bytes := min(size, (to-from)*width)
			block = slices.Grow(block[:0], bytes)[:bytes]
			n, err := readAt(s.file, block, s.header.slotAt(from))
			if err == nil && n < len(block) {
				err = errors.New("the schedule became shorter while it was read")
			}
			if err != nil {
				yield(from, line{err: err})
				return
			}
			for text := range slices.Chunk(block, width) {
				if !yield(from, line{text: s.again(text, from)}) {
					return
				}
				from++
			}
		}
	}
}

// again returns text, or the result of reading it again if it looks damaged.
func (s *Schedule) again(text []byte, index int) []byte {
	for try := 1; try < tries; try++ {
		if _, reason := peekSlot(text); reason == "" {
			return text
		}
		fresh := make([]byte, len(text))
		if n, err := s.file.ReadAt(fresh, s.header.slotAt(index)); err != nil || n < len(fresh) {
			return text
		}
		text = fresh
	}
	return text
}

// Slot returns one slot. The error is a *DamagedSlot if it is damaged.
func (s *Schedule) Slot(index int) (Slot, error) {
	if err := s.inRange(index); err != nil {
		return Slot{}, err
	}
	for _, line := range s.lines(index, index+1) {
		if line.err != nil {
			return Slot{}, line.err
		}
		return s.decoder.decode(line.text, index)
	}
	return Slot{}, errors.ErrUnsupported // not reached: the range has one slot
}

// Slots yields every slot in order. A damaged slot is yielded with its index and a *DamagedSlot,
// and the iteration continues; any other error ends it. Begin and Finish may be called during the
// iteration, which may then yield slots in their previous state.
func (s *Schedule) Slots() iter.Seq2[Slot, error] {
	return func(yield func(Slot, error) bool) {
		for index, line := range s.lines(0, s.header.Slots) {
			if line.err != nil {
				yield(Slot{Index: index}, line.err)
				return
			}
			if slot, err := s.decoder.decode(line.text, index); !yield(slot, err) {
				return
			}
		}
	}
}
