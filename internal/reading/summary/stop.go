package summary

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/stop"
	"krund/internal/schedule"
)

// Stop describes what finishing keys early ([stop]) may save, and what it has saved. Times are
// estimates like the remaining one.
type Stop struct {
	Rules   []stop.Rule `json:"rules"`
	Minimum int         `json:"minimum"`
	// MaySave are the unfinished slots that may still be skipped.
	MaySave    int          `json:"may_save_slots"`
	MaySaveNS  int64        `json:"may_save_ns"`
	Saved      int          `json:"saved_slots"`
	SavedNS    int64        `json:"saved_ns"`
	LastFailed string       `json:"last_failed"` // why the last decision was not followed; "" if it was
	Changed    string       `json:"changed"`     // why no key is finished any more; "" while some may be
	Finished   []stop.Group `json:"finished"`    // keys that were finished early, and why
}

// stopOf returns what [stop] saves; nil without rules. v is nil for an experiment that has not
// begun.
func stopOf(cfg *config.Config, v *survey, samples []Sample, d stop.Decisions) *Stop {
	if len(cfg.Stop.Rules) == 0 {
		return nil
	}
	s := &Stop{Rules: cfg.Stop.Rules, Minimum: cfg.Stop.Minimum, LastFailed: d.Failed, Changed: d.Changed,
		Finished: d.Groups}
	var may, saved []Remaining
	most := mayFinish(cfg, v, d)
	for _, k := range cfg.Keys() {
		s.MaySave += most[k]
		may = append(may, Remaining{k, most[k]})
		skipped := progressOf(cfg, v, k).Skipped
		s.Saved += skipped
		saved = append(saved, Remaining{k, skipped})
	}
	waits := WaitsOf(cfg)
	s.MaySaveNS = int64(Estimate(may, samples, waits, true).Total)
	s.SavedNS = int64(Estimate(saved, samples, waits, true).Total)
	return s
}

// progressOf returns the counts of a key; v is nil for an experiment that has not begun.
func progressOf(cfg *config.Config, v *survey, k key.Key) schedule.KeyCounts {
	if v != nil {
		if i, ok := v.at[k]; ok {
			return v.keys[i]
		}
	}
	return schedule.KeyCounts{Key: k, Counts: schedule.Counts{Outstanding: cfg.Executions(k)}}
}

// mayFinish returns how many outstanding executions of each key [stop] may skip.
func mayFinish(cfg *config.Config, v *survey, d stop.Decisions) map[key.Key]int {
	may := map[key.Key]int{}
	for _, group := range cfg.Groups() {
		if len(cfg.Stop.Rules) == 0 || d.Changed != "" || slices.ContainsFunc(group, cfg.Stop.Keeps) {
			continue
		}
		for _, k := range group {
			c := progressOf(cfg, v, k)
			may[k] = max(0, c.Outstanding-max(0, cfg.Stop.Minimum-c.Completed))
		}
	}
	return may
}

// Bounds are the least and the most that is left of an experiment with [stop] or [stop.iterations].
type Bounds struct {
	Executions Range  `json:"executions"`
	Iterations Range  `json:"iterations"`
	NS         *Range `json:"ns"` // waits included; null until every key has been measured
}

// Range is a least and a most number.
type Range struct {
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
}

// Cost is what an execution of a key takes, as measured.
type Cost struct {
	Execution float64 // everything but its iterations, nanoseconds
	Iteration float64 // nanoseconds
}

// CostsOf returns what the executions of samples took; nothing for keys without an iteration.
func CostsOf(samples []Sample, waits Waits) map[key.Key]Cost {
	between := Estimate(nil, samples, waits, true).Between
	inside, done, wall := map[key.Key]float64{}, map[key.Key]float64{}, MeanTimes(samples)
	executions := map[key.Key]float64{}
	for _, s := range samples {
		inside[s.Key] += float64(s.Inside)
		done[s.Key] += float64(s.Done)
		executions[s.Key]++
	}
	costs := map[key.Key]Cost{}
	for k, n := range done {
		if n > 0 {
			costs[k] = Cost{Iteration: inside[k] / n,
				Execution: float64(between) + max(0, float64(wall[k])-inside[k]/executions[k])}
		}
	}
	return costs
}

// NS is the time of n executions with so many iterations.
func (c Cost) NS(n, iterations float64) float64 { return n * (c.Execution + iterations*c.Iteration) }

// boundsOf returns what is left; nil if all executions and iterations are always run. v is nil for
// an experiment that has not begun.
func boundsOf(cfg *config.Config, v *survey, samples []Sample, d stop.Decisions) *Bounds {
	if len(cfg.Stop.Rules) == 0 && (!cfg.Stop.Iterations.On() || cfg.Stop.Iterations.DryRun) {
		return nil
	}
	costs := CostsOf(samples, WaitsOf(cfg))
	b := &Bounds{}
	least, most, known := 0.0, 0.0, true
	may := mayFinish(cfg, v, d)
	for _, k := range cfg.Keys() {
		c := progressOf(cfg, v, k)
		left := c.Outstanding + c.Running
		fewest := left - may[k]
		shortest, longest := iterationsOf(cfg, k, costs[k].Iteration)
		b.Executions.Least += int64(fewest)
		b.Executions.Most += int64(left)
		b.Iterations.Least += int64(fewest) * int64(shortest)
		b.Iterations.Most += int64(left) * int64(longest)
		least += costs[k].NS(float64(fewest), float64(shortest))
		most += costs[k].NS(float64(left), float64(longest))
		_, measured := costs[k]
		known = known && (left == 0 || measured)
	}
	if known {
		b.NS = &Range{int64(min(least, math.MaxInt64/2)), int64(min(most, math.MaxInt64/2))}
	}
	return b
}

// Ends reports whether [stop.iterations] ends executions of a key.
func Ends(cfg *config.Config, k key.Key) bool {
	s := cfg.Stop.Iterations
	vm, _, _, err := cfg.Lookup(k)
	return s.On() && !s.DryRun && err == nil && vm.Runner != config.RunnerExternal
}

// iterationsOf returns the least and the most iterations of an execution of a key. ns is the
// measured time of an iteration; 0 if it is unknown.
func iterationsOf(cfg *config.Config, k key.Key, ns float64) (least, most int) {
	planned, s := cfg.Iterations(k), cfg.Stop.Iterations
	if !Ends(cfg, k) {
		return planned, planned
	}
	bound := func(steps int, size float64) int { return int(min(float64(planned), float64(steps)*size)) }
	if n, err := strconv.Atoi(s.Step); err == nil {
		return bound(s.WarmupMin+s.Measure, float64(n)), bound(s.WarmupMax+s.Measure, float64(n))
	}
	d, err := time.ParseDuration(s.Step)
	if err != nil || ns == 0 { // a step has one iteration at least
		return bound(s.WarmupMin+s.Measure, 1), planned
	}
	size := max(1, math.Ceil(float64(d)/ns))
	return bound(s.WarmupMin+s.Measure, size), bound(s.WarmupMax+s.Measure, size)
}

// StoppedIterations is what [stop.iterations] has saved in the last executions of each key.
type StoppedIterations struct {
	Executions int `json:"executions"` // that were looked at
	Done       int `json:"done"`       // iterations
	Planned    int `json:"planned"`
}

// stoppedOf returns what [stop.iterations] has saved; nil if there are no executions that it ends.
func stoppedOf(cfg *config.Config, samples []Sample) *StoppedIterations {
	var s *StoppedIterations
	for _, e := range samples {
		if Ends(cfg, e.Key) {
			s = cmp.Or(s, &StoppedIterations{})
			s.Executions++
			s.Done += e.Done
			s.Planned += e.Planned
		}
	}
	return s
}
