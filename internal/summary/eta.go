package summary

import (
	"math"
	"slices"
	"time"

	"krund/internal/config"
	"krund/internal/key"
)

// Sample is what one completed process execution says about time.
type Sample struct {
	Slot    int
	Key     key.Key
	Started time.Time     // wall clock
	Wall    time.Duration // of its process
}

// Waits are the pauses that a configuration makes.
type Waits struct {
	Each time.Duration // with every process execution
	Once time.Duration // at the first start
}

// WaitsOf returns the pauses of c. What the restart of the machine itself
// takes, and the wait for temperatures, is not known in advance and not in it.
func WaitsOf(c *config.Config) Waits {
	return Waits{Each: c.Wait.Startup + c.Wait.Sync, Once: c.Temperature.BaseWait}
}

// Remaining is the number of process executions of one key that are still to
// come.
type Remaining struct {
	Key   key.Key
	Count int
}

// ETA is an estimate. Its parts say what it rests on.
type ETA struct {
	// Total is the time still needed, over the keys that are known. With
	// Unknown keys left it is a lower bound that counts their waits only.
	Total time.Duration
	// Waits is the part of Total that is not processes.
	Waits time.Duration
	// Known is false when nothing was measured and something is to be run: then
	// Total holds the waits alone.
	Known bool
	// Unknown are the keys with process executions to come of which none was
	// measured.
	Unknown []key.Key
	// Between is what passes with each process execution besides its process:
	// waits, boots, temperatures.
	Between time.Duration
	// Measured says that Between was measured, and is not just the configured
	// waits.
	Measured bool
}

// Exact reports whether every key to come was measured.
func (e ETA) Exact() bool { return e.Known && len(e.Unknown) == 0 }

// minGaps is how many measured pauses are needed before they are believed
// rather than the configured ones.
const minGaps = 2

// Estimate adds up what is left: for each key its mean process wall time, and
// for each process execution what passes in between. started tells that the
// waits made once are over.
func Estimate(left []Remaining, samples []Sample, waits Waits, started bool) ETA {
	means := MeanTimes(samples)
	e := ETA{Between: waits.Each}
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
			e.Unknown = append(e.Unknown, r.Key)
			continue
		}
		known++
		processes = plus(processes, times(mean, r.Count))
	}
	e.Total = plus(e.Waits, processes)
	e.Known = known > 0 || len(e.Unknown) == 0
	return e
}

// plus and times add and multiply what is not negative. They stop at the longest duration there is,
// where the numbers would wrap around to a time that is over: a clock that was years behind when
// one execution began makes such gaps.
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

// gaps returns, for samples of slots next to each other, what passed between
// the end of the first and the start of the second. The wall clock may have been
// set in between: negative gaps are left out, and the lower median of the others
// bears a few that are wrong, such as a night in which krund was stopped, or a
// clock that is years behind until the network has set it.
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
