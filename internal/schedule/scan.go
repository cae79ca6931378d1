package schedule

import (
	"errors"
	"iter"
	"slices"
)

// blockBytes is how much is read at once.
const blockBytes = 64 << 10

// Current returns the slot to run next, as stored in the file: the first one that is Running (begun
// before a crash) or Outstanding. It changes nothing. The error is ErrDone if every slot is
// finished, and a *DamagedSlot if one before the wanted one is damaged. The first call reads all
// slots before that one, further calls go on from there.
func (s *Schedule) Current() (Slot, error) {
	for index, line := range s.lines(s.next, s.header.Slots) {
		if line.err != nil {
			return Slot{}, line.err
		}
		flag, reason := peekSlot(line.text)
		if reason != "" {
			return Slot{}, &DamagedSlot{Index: index, Reason: reason}
		}
		if !flag.Final() {
			s.next = index
			return s.decoder.decode(line.text, index)
		}
	}
	s.next = s.header.Slots
	return Slot{}, ErrDone
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
		for from < to {
			bytes := min(blockBytes, (to-from)*width)
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
