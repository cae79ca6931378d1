package schedule

import (
	"errors"
	"iter"
	"slices"

	"krund/internal/experiment/key"
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

// Counts is the number of slots per flag.
type Counts struct {
	Outstanding, Running, Completed, Error, Timeout, Skipped int

	Damaged  int // damaged slots, whose state is unknown
	Attempts int // begun so far, over all slots
}

// Total returns the number of slots.
func (c Counts) Total() int {
	return c.Outstanding + c.Running + c.Completed + c.Error + c.Timeout + c.Skipped + c.Damaged
}

// Final returns the number of finished slots.
func (c Counts) Final() int { return c.Completed + c.Error + c.Timeout + c.Skipped }

// Add counts a slot.
func (c *Counts) Add(s Slot) {
	c.Attempts += s.Attempts
	switch s.Flag {
	case Outstanding:
		c.Outstanding++
	case Running:
		c.Running++
	case Completed:
		c.Completed++
	case Error:
		c.Error++
	case Timeout:
		c.Timeout++
	case Skipped:
		c.Skipped++
	}
}

// KeyCounts are the Counts of one key.
type KeyCounts struct {
	Key key.Key
	Counts
}

// Summary is the state of a schedule in numbers.
type Summary struct {
	Counts
	Keys []KeyCounts // in order of first appearance in the schedule, without damaged slots
	// index of the first Running or Outstanding slot, or the number of slots if there is none
	Next int
}

// Summarize reads every slot once. Its memory use depends only on the number of keys.
func (s *Schedule) Summarize() (Summary, error) {
	sum := Summary{Next: s.header.Slots}
	at := make(map[key.Key]int)
	var damaged *DamagedSlot
	for slot, err := range s.Slots() {
		switch {
		case err == nil:
		case errors.As(err, &damaged):
			sum.Damaged++
			continue
		default:
			return Summary{}, err
		}
		if !slot.Flag.Final() && slot.Index < sum.Next {
			sum.Next = slot.Index
		}
		i, seen := at[slot.Key]
		if !seen {
			i = len(sum.Keys)
			at[slot.Key] = i
			sum.Keys = append(sum.Keys, KeyCounts{Key: slot.Key})
		}
		sum.Add(slot)
		sum.Keys[i].Add(slot)
	}
	return sum, nil
}

// Left returns the number of unfinished slots, including damaged ones. Usually these are all slots
// from the current one on, except after a repair, which may reset single slots among finished ones
// to Outstanding. It reads the slots from the current one on.
func (s *Schedule) Left() (int, error) {
	left := 0
	for _, line := range s.lines(s.next, s.header.Slots) {
		if line.err != nil {
			return 0, line.err
		}
		if f, reason := peekSlot(line.text); reason != "" || !f.Final() {
			left++
		}
	}
	return left, nil
}
