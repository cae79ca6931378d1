package schedule

import (
	"errors"

	"krund/internal/experiment/key"
)

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
