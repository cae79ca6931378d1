package schedule

import (
	"errors"
	"io/fs"
	"time"

	"krund/internal/config"
	"krund/internal/results"
)

// Facts summarize all records, for a header of which both copies are lost. The zero Facts are those
// of an experiment without records.
type Facts struct {
	First    time.Time             // when the first attempt began; zero: unknown
	Attempts int                   // how many there were, in all slots
	Base     []results.Temperature // base temperatures, of the newest record that has them; nil: none has
}

// NewHeader returns the header of a rebuilt schedule of cfg. Reboots and mails are as high as they
// may have been, so that no bound is exceeded. now is the start of the experiment if facts does not
// contain it.
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

// NewSource returns what the schedule of cfg is rebuilt from. header is used only if both copies
// are lost; history returns the records of a slot.
func NewSource(cfg *config.Config, header Header, history func(slot int) (History, error)) Source {
	e := cfg.Experiment
	return Source{
		Header: header,
		Plan:   Plan(cfg.Keys(), e.Executions, e.Order, e.Seed),
		State: func(planned Slot) (Slot, error) {
			h, err := history(planned.Index)
			if err != nil {
				return planned, err
			}
			return h.State(planned), nil
		},
	}
}

// Brief is what a rebuild needs of a record.
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

// History summarizes the records of one slot.
type History struct {
	Records []Brief // that could be read, by attempt
	Highest int     // attempt of any of them, readable or not
}

// Final returns the record that ends the slot: the completed one, else the last that is not a
// rerun. ok is false when there is none.
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

// Of returns the history without records that do not belong to this slot's process execution.
func (h History) Of(slot Slot) History {
	own := History{Highest: h.Highest}
	for _, r := range h.Records {
		if r.Key == slot.Key.String() && r.Pexec == slot.Pexec {
			own.Records = append(own.Records, r)
		}
	}
	return own
}

// State returns a planned slot with the flag and the attempts of its records: outstanding if none
// of them is final.
func (h History) State(planned Slot) Slot {
	planned.Flag, planned.Attempts = Outstanding, h.Highest
	if final, ok := h.Of(planned).Final(); ok {
		planned.Flag = FlagOf(final.Outcome)
	}
	return planned
}

// ReadHistory reads the history of one slot, of the attempts 1 to most. It opens files by name
// without listing the directory, so that the cost does not depend on the number of records. A
// record that cannot be read is an error, because it may or may not finish the slot.
func ReadHistory(records *results.Reader, slot, most int) (History, error) {
	var h History
	for attempt := 1; attempt <= most; attempt++ {
		rec, err := records.Load(results.Name{Slot: slot, Attempt: attempt})
		if errors.Is(err, fs.ErrNotExist) {
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
