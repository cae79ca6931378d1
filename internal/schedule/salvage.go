package schedule

import (
	"errors"
	"fmt"
	"iter"

	"krund/internal/durable"
)

// salvage determines which parts of the file can be used.
func salvage(f durable.File, src Source) (*Schedule, RepairReport, error) {
	var report RepairReport
	found, err := readHeaders(f)
	if err != nil {
		return nil, report, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, report, err
	}
	old := &Schedule{file: f}
	for _, damage := range found.damage {
		if damage != nil {
			report.Headers = append(report.Headers, damage)
		}
	}
	best, err := found.best()
	switch {
	case errors.Is(err, ErrHeaders):
		old.header, err = old.guess(src)
	case err == nil:
		old.header = found.header[best]
		err = samePlan(old.header, src)
	}
	if err != nil {
		return nil, report, err
	}
	if want := old.header.fileBytes(); info.Size() != want {
		report.Size = &SizeError{Have: info.Size(), Want: want}
	}
	return old, report, nil
}

// samePlan rejects a configuration from which the schedule was not created.
func samePlan(h Header, src Source) error {
	if h.ConfigHash != src.Header.ConfigHash {
		return fmt.Errorf("it was created from another configuration (hash %s, not %s); use the "+
			"experiment's own config.toml", h.ConfigHash, src.Header.ConfigHash)
	}
	if n := count(src.Plan); n != h.Slots {
		return fmt.Errorf("it has %d slots, but the configuration plans %d", h.Slots, n)
	}
	return nil
}

func count(slots iter.Seq[Slot]) int {
	n := 0
	for range slots {
		n++
	}
	return n
}

// guess builds a header from src. It chooses the size of the header copies and the line width under
// which lines of the plan's first slots are found. If there are none, nothing in the file can be
// used, and it uses the sizes that Create would choose.
func (s *Schedule) guess(src Source) (Header, error) {
	h, err := shape(src.Header, count(src.Plan), src.Plan)
	if err != nil {
		return Header{}, err
	}
	best, most := h, 0
	for width := h.Width; width <= maxWidth; width *= 2 {
		for sectors := 1; sectors <= maxSectors; sectors++ {
			try := h
			try.Width, try.Sectors = width, sectors
			if n := s.matches(try, src.Plan); n > most {
				best, most = try, n
			}
		}
	}
	bare := src.Header
	bare.Sensors = 0 // spare room is only for new files
	if need := sectorsFor(bare); best.Sectors < need {
		return Header{}, fmt.Errorf("%w: it has %d sectors, the rebuilt header needs %d; leave out the "+
			"base temperatures", ErrRoom, best.Sectors, need)
	}
	return best, nil
}

// matches returns the number of lines, among the first ones, that are in their place if h is the
// header.
func (s *Schedule) matches(h Header, plan iter.Seq[Slot]) int {
	const first = 16
	n := 0
	line := make([]byte, h.Width)
	for planned := range plan {
		if planned.Index == first {
			break
		}
		if got, err := readAt(s.file, line, h.slotAt(planned.Index)); err != nil || got < len(line) {
			break
		}
		if slot, err := s.decoder.decode(line, planned.Index); err == nil && sameTask(slot, planned) {
			n++
		}
	}
	return n
}

func sameTask(a, b Slot) bool { return a.Key == b.Key && a.Pexec == b.Pexec }

// salvaged is a slot as stored in the file, or as planned if it is damaged.
type salvaged struct {
	Slot
	damaged bool
}

// slots yields every planned slot with its state in the file. It stops at the first error.
func (s *Schedule) slots(src Source) iter.Seq2[salvaged, error] {
	return func(yield func(salvaged, error) bool) {
		line := make([]byte, s.header.Width)
		for planned := range src.Plan {
			n, err := readAt(s.file, line, s.header.slotAt(planned.Index))
			if err != nil {
				yield(salvaged{}, err)
				return
			}
			slot, err := s.decoder.decode(line, planned.Index)
			damaged := err != nil || n < len(line)
			if damaged {
				slot = planned
			}
			if !sameTask(slot, planned) {
				yield(salvaged{}, fmt.Errorf("slot %d is %s number %d, but the configuration plans %s "+
					"number %d",
					slot.Index, slot.Key, slot.Pexec, planned.Key, planned.Pexec))
				return
			}
			if !yield(salvaged{Slot: slot, damaged: damaged}, nil) {
				return
			}
		}
	}
}
