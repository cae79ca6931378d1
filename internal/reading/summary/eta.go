package summary

import (
	"fmt"
	"math"
	"slices"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Sample is the timing of one completed process execution.
type Sample struct {
	Slot    int
	Key     key.Key
	Started time.Time     // wall clock
	Wall    time.Duration // of its process
	Inside  time.Duration // of its iterations
	Done    int           // iterations that were run
	Planned int           // iterations without [stop.iterations]
}

// SampleOf returns the timing of a record.
func SampleOf(r *results.Record) Sample {
	s := Sample{Slot: r.Slot, Key: r.Key, Started: r.Started, Wall: time.Duration(r.Process.WallNS),
		Done: len(r.WallNS), Planned: r.Iterations}
	for _, ns := range r.WallNS {
		s.Inside = plus(s.Inside, time.Duration(max(ns, 0)))
	}
	return s
}

// Waits are the configured pauses.
type Waits struct {
	Each time.Duration // with every process execution
	Once time.Duration // at the first start
}

// WaitsOf returns the pauses of c. The duration of a reboot and the wait for temperatures are not
// known in advance and not included.
func WaitsOf(c *config.Config) Waits {
	return Waits{Each: c.Wait.Startup + c.Wait.Sync, Once: c.Temperature.BaseWait}
}

// Remaining is the number of outstanding process executions of one key.
type Remaining struct {
	Key   key.Key
	Count int
}

// ETA is an estimate of the remaining time and its basis, as the documents of plan and status have
// it.
type ETA struct {
	Known bool `json:"known"` // every outstanding key was measured
	// null when nothing was measured; a lower bound, which has only the waits of the Unknown keys,
	// when Known is false
	RemainingNS *int64        `json:"remaining_ns"`
	Total       time.Duration `json:"-"`                // the same; if nothing was measured the waits only
	Waits       time.Duration `json:"waits_ns"`         // the part that is not process time
	Between     time.Duration `json:"between_ns"`       // of these, per process execution: boots and the like
	Measured    bool          `json:"between_measured"` // rather than taken from the configured waits
	Unknown     []string      `json:"unknown_keys"`     // outstanding keys that were never measured
}

// String returns a readable form of the estimate.
func (e ETA) String() string {
	basis := "configured waits"
	if e.Measured {
		basis = "measured waits and boots"
	}
	waits := display.Duration(e.Waits)
	switch {
	case e.RemainingNS == nil:
		return "unknown until something has been measured; " + waits + " of " + basis
	case *e.RemainingNS == 0:
		return "nothing is left to run"
	}
	remaining := display.Duration(time.Duration(*e.RemainingNS))
	if !e.Known {
		return fmt.Sprintf("at least %s; %s not yet measured", remaining,
			display.Count(len(e.Unknown), "key"))
	}
	return fmt.Sprintf("%s, of which %s %s", remaining, waits, basis)
}

// minGaps is the number of measured pauses from which they replace the configured ones.
const minGaps = 2

// Estimate adds up the remaining time: for each key its mean process wall time, and for each
// process execution the time in between. started means that the one-time waits are over.
func Estimate(left []Remaining, samples []Sample, waits Waits, started bool) ETA {
	means := MeanTimes(samples)
	e := ETA{Between: waits.Each, Unknown: []string{}}
	if gaps := gaps(samples); len(gaps) >= minGaps {
		slices.Sort(gaps)
		e.Between, e.Measured = max(gaps[(len(gaps)-1)/2], waits.Each), true
	}
	if !started {
		e.Waits = waits.Once
	}
	known := 0
	var processes time.Duration
	for _, r := range left {
		if r.Count <= 0 {
			continue
		}
		e.Waits = plus(e.Waits, times(e.Between, r.Count))
		mean, ok := means[r.Key]
		if !ok {
			e.Unknown = append(e.Unknown, r.Key.String())
			continue
		}
		known++
		processes = plus(processes, times(mean, r.Count))
	}
	e.Known, e.Total = len(e.Unknown) == 0, plus(e.Waits, processes)
	if known > 0 || e.Known {
		e.RemainingNS = new(int64(e.Total))
	}
	return e
}

// plus and times add and multiply non-negative durations and saturate at the longest duration,
// because wrapping around would give a negative one. A clock that was years behind when an
// execution began causes such gaps.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}

// MeanTimes returns the mean process wall time of each key that has samples.
func MeanTimes(samples []Sample) map[key.Key]time.Duration {
	sum, n := make(map[key.Key]time.Duration), make(map[key.Key]time.Duration)
	for _, s := range samples {
		sum[s.Key] = plus(sum[s.Key], s.Wall)
		n[s.Key]++
	}
	for k := range sum {
		sum[k] /= n[k]
	}
	return sum
}

// gaps returns, for samples of adjacent slots, the time between the end of the first and the start
// of the second. The wall clock may have been set in between: negative gaps are ignored, and the
// lower median of the others is robust to a few wrong ones, such as a night in which krund was
// stopped, or a clock that is years behind until the network has set it.
func gaps(samples []Sample) []time.Duration {
	sorted := slices.SortedFunc(slices.Values(samples), func(a, b Sample) int { return a.Slot - b.Slot })
	var found []time.Duration
	for i := 1; i < len(sorted); i++ {
		before, after := sorted[i-1], sorted[i]
		if after.Slot != before.Slot+1 {
			continue
		}
		if gap := after.Started.Sub(before.Started) - before.Wall; gap >= 0 {
			found = append(found, gap)
		}
	}
	return found
}
