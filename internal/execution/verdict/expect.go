package verdict

import (
	"math"
	"slices"

	"krund/internal/experiment/results"
)

// sameRatio is the largest relative difference between the expected ratios of the cores that
// threads may run on if the threads' own ratio is to be judged.
const sameRatio = 0.01

// Expect completes known, what krund found out about the machine's cores before a run, with the
// expected ratio of each core of the run, and returns that for the record, in the run's order. It
// stores the ratios in the run.
//
// APERF counts at the core's frequency and MPERF at a constant rate, the processor's maximum
// frequency without turbo (Linux 6.12, arch/x86/kernel/cpu/aperfmperf.c:404). So their ratio is the
// held frequency over that rate. It is 1 only if the core is held at that maximum, which is neither
// so for efficient cores nor where the firmware guarantees less (configurable TDP).
//
// If the rate was not measured, it is the fastest MPERF of any core in the run, because all cores
// count at the same rate, and a core that is never halted in an iteration counts all of it. If the
// held frequency is unknown, the ratio is 1, as in earlier versions.
func (r *CounterRun) Expect(known []results.Frequency) []results.Frequency {
	fastest := r.fastest()
	var list []results.Frequency
	for _, c := range r.Cores {
		if len(c.APERF) == 0 || len(c.MPERF) == 0 {
			continue
		}
		if c.Core == TaskThreads {
			list = append(list, results.Frequency{Expected: common(known, fastest)})
			continue
		}
		core := c.Core
		f := results.Frequency{Core: &core}
		if i := slices.IndexFunc(known, func(k results.Frequency) bool {
			return k.Core != nil && *k.Core == core
		}); i >= 0 {
			f = known[i]
		}
		list = append(list, expected(f, fastest))
	}
	r.expect(list)
	return list
}

// expected returns f with the rate of MPERF, if it is not known yet, and the expected ratio.
func expected(f results.Frequency, fastest float64) results.Frequency {
	if f.MPERFHz != nil {
		f.Source = results.MeasuredRate
	} else if fastest > 0 {
		f.MPERFHz, f.Source = &fastest, results.RunRate
	}
	ratio := 1.0
	if f.HeldKHz != nil && f.MPERFHz != nil && *f.MPERFHz > 0 {
		hz := 1000 * float64(*f.HeldKHz)
		if f.MeasuredHz != nil && nextLevel(hz, *f.MeasuredHz) {
			hz = *f.MeasuredHz
		}
		ratio = hz / *f.MPERFHz
	}
	f.Expected = &ratio
	return f
}

// nextLevel reports whether a measured frequency is the hardware's level next to the held one, for
// which the hardware has none: it differs by more than the tolerance, but by less than a P-state of
// 100 MHz. Drivers take the next level (Linux 6.12, drivers/cpufreq/intel_pstate.c:532-548, where
// the levels of a hybrid processor are 79 MHz apart).
func nextLevel(held, measured float64) bool {
	off := math.Abs(measured - held)
	return off > DefaultTolerance*held && off <= 100e6
}

// common returns the expected ratio of threads that may run on any of the known cores; nil if the
// cores' ratios differ, or none is known.
func common(known []results.Frequency, fastest float64) *float64 {
	var ratios []float64
	for _, k := range known {
		ratios = append(ratios, *expected(k, fastest).Expected)
	}
	if len(ratios) == 0 || slices.Max(ratios) > slices.Min(ratios)*(1+sameRatio) {
		return nil
	}
	return &ratios[0]
}

// expect stores the expected ratios of a record's frequencies in the run. What is not among them is
// expected to be 1, but the benchmark's threads are not judged.
func (r *CounterRun) expect(list []results.Frequency) {
	for i := range r.Cores {
		c := &r.Cores[i]
		if c.Core == TaskThreads {
			c.Expected = math.NaN()
		}
		for _, f := range list {
			if (f.Core == nil) == (c.Core == TaskThreads) && (f.Core == nil || *f.Core == c.Core) &&
				f.Expected != nil && *f.Expected > 0 && !math.IsInf(*f.Expected, 0) {
				c.Expected = *f.Expected
			}
		}
	}
}

// fastest returns the fastest MPERF of any core, in counts per second; 0 if no iteration is long
// enough to measure it.
func (r *CounterRun) fastest() float64 {
	const shortest = 1_000_000 // nanoseconds: the readings' own time is a thousandth of it
	fastest := 0.0
	for _, core := range r.Cores {
		for i, n := range core.MPERF {
			if r.sound(core.MPERF, i) && r.WallNS[i] >= shortest && core.Core != TaskThreads {
				fastest = max(fastest, float64(n)/r.seconds(i))
			}
		}
	}
	return fastest
}
