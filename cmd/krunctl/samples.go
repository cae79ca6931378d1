package main

import (
	"errors"
	"slices"
	"time"

	"krund/internal/display"
	"krund/internal/key"
	"krund/internal/results"
	"krund/internal/schedule"
	"krund/internal/summary"
)

// Bounds of how many records are read to estimate a duration, so that a status
// costs the same for a small experiment and a large one.
const (
	samplesPerKey = 3
	mostSamples   = 300
)

// survey is one pass over the schedule: which records are worth a look.
type survey struct {
	recent   map[key.Key][]schedule.Slot // the last completed slots of each key
	failures []schedule.Slot             // slots that ended with an error or a timeout, the first few
	failed   int                         // how many there are
	running  *schedule.Slot
	next     *schedule.Slot // first outstanding one
	last     *schedule.Slot // last finished one
	damaged  []*schedule.DamagedSlot
	seen     schedule.Counts
	keys     []schedule.KeyCounts
	at       map[key.Key]int
}

// look reads every slot of s once. Its memory depends on the number of keys.
func look(s *schedule.Schedule, mostFailures int) (*survey, error) {
	v := &survey{recent: make(map[key.Key][]schedule.Slot), at: make(map[key.Key]int)}
	for slot, err := range s.Slots() {
		var damaged *schedule.DamagedSlot
		switch {
		case errors.As(err, &damaged):
			v.seen.Damaged++
			v.damaged = append(v.damaged, damaged)
			continue
		case err != nil:
			return nil, err
		}
		v.add(slot, mostFailures)
	}
	return v, nil
}

func (v *survey) add(slot schedule.Slot, mostFailures int) {
	i, seen := v.at[slot.Key]
	if !seen {
		i = len(v.keys)
		v.at[slot.Key] = i
		v.keys = append(v.keys, schedule.KeyCounts{Key: slot.Key})
	}
	count(&v.seen, slot)
	count(&v.keys[i].Counts, slot)
	switch slot.Flag {
	case schedule.Outstanding:
		if v.next == nil {
			v.next = &slot
		}
		return
	case schedule.Running:
		v.running = &slot
		return
	case schedule.Completed:
		recent := append(v.recent[slot.Key], slot)
		v.recent[slot.Key] = recent[max(0, len(recent)-samplesPerKey):]
	case schedule.Error, schedule.Timeout:
		v.failed++
		if len(v.failures) < mostFailures {
			v.failures = append(v.failures, slot)
		}
	}
	v.last = &slot
}

func count(c *schedule.Counts, slot schedule.Slot) {
	c.Attempts += slot.Attempts
	switch slot.Flag {
	case schedule.Outstanding:
		c.Outstanding++
	case schedule.Running:
		c.Running++
	case schedule.Completed:
		c.Completed++
	case schedule.Error:
		c.Error++
	case schedule.Timeout:
		c.Timeout++
	case schedule.Skipped:
		c.Skipped++
	}
}

// left returns what is still to be run of each key, the running slot included.
func (v *survey) left() []summary.Remaining {
	list := make([]summary.Remaining, 0, len(v.keys))
	for _, k := range v.keys {
		list = append(list, summary.Remaining{Key: k.Key, Count: k.Outstanding + k.Running})
	}
	return list
}

// samples reads the records of the last completed slots. Records that cannot
// be read are left out: `krunctl check-data` is there to find them.
func (v *survey) samples(r *results.Reader) []summary.Sample {
	var slots []schedule.Slot
	for _, recent := range v.recent {
		slots = append(slots, recent...)
	}
	slices.SortFunc(slots, func(a, b schedule.Slot) int { return a.Index - b.Index })
	slots = slots[max(0, len(slots)-mostSamples):]
	var samples []summary.Sample
	for _, slot := range slots {
		rec, ok, err := r.Latest(slot.Index, slot.Attempts)
		if err == nil && ok && rec.Outcome == results.Completed {
			samples = append(samples, sampleOf(rec))
		}
	}
	return samples
}

func sampleOf(rec results.Record) summary.Sample {
	return summary.Sample{Slot: rec.Slot, Key: rec.Key, Started: rec.Started, Wall: time.Duration(rec.Process.WallNS)}
}

// etaJSON is an estimate in the outputs of plan and status.
type etaJSON struct {
	Known       bool     `json:"known"`        // every key to come was measured
	RemainingNS *int64   `json:"remaining_ns"` // null when nothing was measured; a lower bound when known is false
	WaitsNS     int64    `json:"waits_ns"`     // the part of it that is waits, boots and the like
	BetweenNS   int64    `json:"between_ns"`   // of these, with each process execution
	Measured    bool     `json:"between_measured"`
	Unknown     []string `json:"unknown_keys"` // keys to come that were never measured
}

func etaOf(e summary.ETA) etaJSON {
	j := etaJSON{Known: e.Exact(), WaitsNS: int64(e.Waits), BetweenNS: int64(e.Between), Measured: e.Measured, Unknown: []string{}}
	if e.Known {
		total := int64(e.Total)
		j.RemainingNS = &total
	}
	for _, k := range e.Unknown {
		j.Unknown = append(j.Unknown, k.String())
	}
	return j
}

// etaText says what etaJSON says.
func etaText(j etaJSON) string {
	basis := "configured waits"
	if j.Measured {
		basis = "measured waits and boots"
	}
	switch {
	case j.RemainingNS != nil && *j.RemainingNS == 0:
		return "nothing is left to run"
	case j.RemainingNS == nil:
		return "unknown until something was measured; " + display.Duration(time.Duration(j.WaitsNS)) + " of " + basis
	case !j.Known:
		return "at least " + display.Duration(time.Duration(*j.RemainingNS)) + "; " + display.Count(len(j.Unknown), "key") + " not yet measured"
	}
	return display.Duration(time.Duration(*j.RemainingNS)) + ", of which " + display.Duration(time.Duration(j.WaitsNS)) + " " + basis
}
