package verdict

import (
	"cmp"
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
