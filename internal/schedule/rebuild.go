package schedule

import (
	"errors"
	"io/fs"
	"time"

	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
)

// Facts are data from all records, for rebuilding a header if both copies are lost. The zero Facts
// are those of an experiment without records.
type Facts struct {
	First    time.Time             // start of the first attempt; zero if unknown
	Attempts int                   // number of attempts in all slots
	Base     []results.Temperature // base temperatures of the newest record that has them; nil if none has
}

// NewHeader returns the header of a rebuilt schedule of cfg. Reboots and mails are set to their
// maximum possible number, so that no limit is exceeded. now is used as the creation time if facts
// do not have it.
func NewHeader(cfg *config.Config, facts Facts, now time.Time) Header {
	e := cfg.Experiment
	h := Header{
		ConfigHash: cfg.Hash, Order: e.Order, Seed: e.Seed, Mails: cfg.Notify.MaxMails,
		Sensors: max(len(facts.Base), SpareSensors),
	}
	began := now
	if !facts.First.IsZero() {
		began = facts.First
	}
	h.Created = began.UTC().Format(time.RFC3339)
	if e.Reboot != config.RebootNone {
		h.Reboots = facts.Attempts
	}
	h.BaseTemperatures = append(h.BaseTemperatures, facts.Base...)
	return h
}

// NewSource returns what the schedule of an experiment is rebuilt from. header is used only if both
// copies are lost; history returns the records of a slot.
func NewSource(stages []Stage, header Header, history func(slot int) (History, error)) Source {
	return Source{
		Header: header,
		Plan:   PlanOf(stages),
		State: func(planned Slot) (Slot, error) {
			h, err := history(planned.Index)
			if err != nil {
				return planned, err
			}
			return h.State(planned), nil
		},
	}
}

// Brief is the part of a record that has to be remembered.
type Brief struct {
	Name    results.Name
	Key     string
	Pexec   int
	Outcome results.Outcome
}

// BriefOf returns the brief of a record.
func BriefOf(r results.Record) Brief {
	return Brief{Name: results.Name{Slot: r.Slot, Attempt: r.Attempt}, Key: r.Key.String(), Pexec: r.Pexec,
		Outcome: r.Outcome}
}

// History is what the records contain about one slot.
type History struct {
	Records []Brief // readable records, by attempt
	Highest int     // highest attempt of any record, readable or not, or replaced by a rerun
}

// Final returns the record that ends the slot: the completed one, or else the last that is not a
// rerun. ok is false if there is none.
func (h History) Final() (b Brief, ok bool) {
	for _, r := range h.Records {
		if r.Outcome == results.Completed {
			return r, true
		}
		if r.Outcome != results.Rerun {
			b, ok = r, true
		}
	}
	return b, ok
}

// Of returns h without records that do not belong to this slot's process execution.
func (h History) Of(slot Slot) History {
	own := History{Highest: h.Highest}
	for _, r := range h.Records {
		if r.Key == slot.Key.String() && r.Pexec == slot.Pexec {
			own.Records = append(own.Records, r)
		}
	}
	return own
}

// State sets the flag and the attempts of a planned slot according to its records. The slot is
// Outstanding if none of them is final.
func (h History) State(planned Slot) Slot {
	planned.Flag, planned.Attempts = Outstanding, h.Highest
	if final, ok := h.Of(planned).Final(); ok {
		planned.Flag = FlagOf(final.Outcome)
	}
	return planned
}

// ReadHistory reads the history of one slot, of the attempts 1 to most. It opens files by name
// without listing the directory, so that its cost does not depend on the number of records. A
// record that cannot be read is an error, because it is then unknown whether the slot is finished.
func ReadHistory(records *results.Reader, slot, most int) (History, error) {
	var h History
	for attempt := 1; attempt <= most; attempt++ {
		rec, err := records.Load(results.Name{Slot: slot, Attempt: attempt})
		if errors.Is(err, fs.ErrNotExist) {
			if records.Replaced(results.Name{Slot: slot, Attempt: attempt}) {
				h.Highest = attempt
			}
			continue
		}
		if err != nil {
			return History{}, err
		}
		h.Records = append(h.Records, BriefOf(rec))
		h.Highest = attempt
	}
	return h, nil
}
