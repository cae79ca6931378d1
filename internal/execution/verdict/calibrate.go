package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"krund/internal/experiment/results"
)

// RunOf collects the per-core counters of a record: its columns or, if it has none, its totals,
// which form a single "iteration" from the start of the first one to the end of the runner. Of the
// record it uses only the series, the totals, the start-up stamps and the frequencies. ok is false
// if there is nothing to judge. The slices belong to the record.
func RunOf(r results.Record) (run CounterRun, ok bool) {
	var cores collector
	for _, c := range r.Columns {
		if c.Kind == results.KindCounter {
			cores.put(c.Core, c.Name, c.Counts)
		}
	}
	run = CounterRun{StartNS: r.StartNS, WallNS: r.WallNS}
	if len(cores.list) == 0 && len(r.Totals) > 0 && r.Startup.FirstNS != nil && r.Startup.DoneNS != nil {
		for _, t := range r.Totals {
			value := results.MissingCount
			if t.Value != nil {
				value = *t.Value
			}
			cores.put(t.Core, t.Name, []uint64{value})
		}
		first, done := *r.Startup.FirstNS, *r.Startup.DoneNS
		run = CounterRun{StartNS: []int64{first}, WallNS: []int64{done - first}, Whole: true}
	}
	run.Cores = cores.list
	if len(r.Frequencies) == 0 { // older versions did not judge the benchmark's threads
		run.Cores = slices.DeleteFunc(run.Cores, func(c CoreCounts) bool { return c.Core == TaskThreads })
	}
	run.expect(r.Frequencies)
	return run, len(run.Cores) > 0 && len(run.WallNS) > 0
}

// collector groups counters by core, in order of first appearance.
type collector struct {
	list []CoreCounts
}

// put adds a series. It ignores other counters, and the cycles of the benchmark's threads: a thread
// that moves between kinds of cores has several.
func (c *collector) put(core *int, name string, counts []uint64) {
	of := TaskThreads
	if core != nil {
		of = *core
	}
	switch {
	case name == "aperf":
		c.of(of).APERF = counts
	case name == "mperf":
		c.of(of).MPERF = counts
	case name == "smi":
		c.of(of).SMI = counts
	case name == "cycles" && core != nil:
		c.of(of).Cycles = counts
	}
}

func (c *collector) of(core int) *CoreCounts {
	for i := range c.list {
		if c.list[i].Core == core {
			return &c.list[i]
		}
	}
	c.list = append(c.list, CoreCounts{Core: core})
	return &c.list[len(c.list)-1]
}

// HasRatio reports whether a core has both APERF and MPERF, and their ratio can be judged.
func (r CounterRun) HasRatio() bool {
	for _, c := range r.Cores {
		if len(c.APERF) > 0 && len(c.MPERF) > 0 && !math.IsNaN(c.expected()) {
			return true
		}
	}
	return false
}

// Join concatenates runs for a calibration that took several. Cores are matched by number; if a run
// lacks a core or a counter, its iterations are missing. Start stamps are dropped, because the
// clocks of different runs are unrelated.
func Join(runs ...CounterRun) CounterRun {
	var all collector
	var joined CounterRun
	for _, r := range runs {
		for _, c := range r.Cores {
			all.of(c.Core)
		}
		joined.WallNS = append(joined.WallNS, r.WallNS...)
		joined.Whole = joined.Whole || r.Whole
	}
	for _, r := range runs {
		n := len(r.WallNS)
		own := collector{list: append([]CoreCounts(nil), r.Cores...)}
		for i := range all.list {
			to, from := &all.list[i], own.of(all.list[i].Core)
			to.APERF = extend(to.APERF, from.APERF, n)
			to.MPERF = extend(to.MPERF, from.MPERF, n)
			to.Cycles = extend(to.Cycles, from.Cycles, n)
			to.Expected = cmp.Or(to.Expected, from.Expected)
		}
	}
	joined.Cores = all.list
	return joined
}

// extend appends n values: those of more, or missing ones if more has none.
func extend(counts, more []uint64, n int) []uint64 {
	for i := range n {
		value := results.MissingCount
		if i < len(more) {
			value = more[i]
		}
		counts = append(counts, value)
	}
	return counts
}

// Calibration errors.
var (
	// ErrNoRatio reports that a calibration run has no usable A/MPERF.
	ErrNoRatio = errors.New("no APERF and MPERF in the calibration run")
	// ErrOverlap reports that idle and busy cores cannot be distinguished.
	ErrOverlap = errors.New("idle cores count as fast as busy ones")
)

// Bounds of the limits that Suggest returns.
const (
	toleranceMargin = 1.5   // factor of the largest observed deviation
	toleranceStep   = 0.005 // the tolerance is rounded up to a multiple of this
	leastTolerance  = 0.01  // the error of the readings alone, as in the study
)

// Suggest derives limits from two calibration runs: one with all cores idle, and one with all cores
// busy at a fixed frequency. The threshold is the geometric mean of the fastest idle and the
// slowest busy APERF per second. The tolerance is 1.5 times the largest relative deviation from the
// expected ratio among the busy cores, rounded up to half a percent. A frequency step is about 5
// percent: with a much larger tolerance nothing would be detected, and the cause (turbo, power
// saving) should be removed instead. The errors are ErrNoRatio and ErrOverlap.
func Suggest(idle, busy CounterRun) (CounterLimits, error) {
	_, idleMost, _, n, _ := calibrate(idle)
	busyLeast, _, deviation, m, long := calibrate(busy)
	switch {
	case n == 0 || m == 0:
		return CounterLimits{}, ErrNoRatio
	case long == 0:
		return CounterLimits{}, fmt.Errorf("%w: its iterations are too short; use iterations of at least a "+
			"millisecond", ErrNoRatio)
	}
	if idleMost >= busyLeast {
		return CounterLimits{}, fmt.Errorf("%w: up to %.3g APERF/s idle, from %.3g busy; keep all cores "+
			"idle in the idle run and busy in the busy run", ErrOverlap, idleMost, busyLeast)
	}
	steps := math.Ceil(deviation*toleranceMargin/toleranceStep - 1e-9) // 0.03 is six steps, not seven
	return CounterLimits{
		Tolerance:     max(leastTolerance, steps*toleranceStep),
		BusyThreshold: math.Sqrt(max(idleMost, 1) * busyLeast),
	}, nil
}

// calibrate returns the slowest and the fastest APERF per second, the largest relative deviation of
// APERF/MPERF from the expected ratio, the number of values, and how many of them are large enough
// for a ratio.
func calibrate(run CounterRun) (least, most, deviation float64, n, long int) {
	least = math.Inf(1)
	for _, core := range run.Cores {
		if math.IsNaN(core.expected()) {
			continue
		}
		for i := range run.WallNS {
			if !run.sound(core.APERF, i) || !run.sound(core.MPERF, i) {
				continue
			}
			rate := float64(core.APERF[i]) / run.window(i)
			least, most = min(least, rate), max(most, rate)
			if core.MPERF[i] >= leastCounts {
				ratio := float64(core.APERF[i]) / float64(core.MPERF[i]) / core.expected()
				deviation = max(deviation, math.Abs(ratio-1))
				long++
			}
			n++
		}
	}
	return least, most, deviation, n, long
}
