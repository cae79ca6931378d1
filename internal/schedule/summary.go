package schedule

import (
	"errors"

	"krund/internal/key"
)

// Counts says how many slots have which flag.
type Counts struct {
	Outstanding, Running, Completed, Error, Timeout, Skipped int

	Damaged  int // slots whose state is unknown
	Attempts int // begun so far, over all slots
}

// Total returns the number of slots.
func (c Counts) Total() int {
	return c.Outstanding + c.Running + c.Completed + c.Error + c.Timeout + c.Skipped + c.Damaged
}

// Final returns the number of slots that are finished.
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
	Keys []KeyCounts // in the order in which the schedule first names them; damaged slots have none
	Next int         // index of the first Running or Outstanding slot; the number of slots when there is none
}

// Summarize reads every slot once. Its memory depends on the number of keys
// only.
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

// Left returns how many slots are not finished, damaged ones among them. Usually these are all from
// the current one on, but not after a repair, which makes single slots in the midst of finished
// ones outstanding. It reads the slots from the current one on.
func (s *Schedule) Left() (int, error) {
	from := 0
	if s.place.known {
		from = s.place.next
	}
	left := 0
	for _, line := range s.lines(from, s.header.Slots) {
		if line.err != nil {
			return 0, line.err
		}
		if f, reason := peekSlot(line.text); reason != "" || !f.Final() {
			left++
		}
	}
	return left, nil
}
