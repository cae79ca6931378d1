package verdict

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/experiment/results"
)

// RatioKind is the side on which a ratio left the limits.
type RatioKind string

// The sides.
const (
	Throttled RatioKind = "throttled" // slower than the frequency it is held at
	Turbo     RatioKind = "turbo"     // faster
)

// RatioViolation is an iteration in which a busy core left the limits. If iterations are too short
// to be judged individually, the ratio is that of several iterations together.
type RatioViolation struct {
	Core, Iteration int
	Kind            RatioKind
	Ratio           float64 // APERF/MPERF
	Expected        float64 // what it should have been
}

// leastCounts is the minimum count for a meaningful ratio. APERF and MPERF are read one after the
// other, and the time between the readings varies by about a microsecond from one iteration to the
// next (an interrupt to another core): 3000 counts at 3 GHz. Three times that is the study's
// tolerance of this many counts.
const leastCounts = 300_000

// block is one busy iteration, or several that are too short to be judged individually.
type block struct {
	iterations   []int
	aperf, mperf float64
}

// enough reports whether a block can be judged: the error of n readings is sqrt(n) times that of
// one.
func (b block) enough() bool {
	return max(b.aperf, b.mperf) >= leastCounts*math.Sqrt(float64(len(b.iterations)))
}

// judge returns a violation for each iteration of a block that exceeds the tolerance.
func (b block) judge(core CoreCounts, tolerance float64) []RatioViolation {
	// +Inf if MPERF stood still
	v := RatioViolation{Core: core.Core, Ratio: b.aperf / b.mperf, Expected: core.expected()}
	switch relative := v.Ratio / v.Expected; {
	case relative < 1-tolerance:
		v.Kind = Throttled
	case relative > 1+tolerance:
		v.Kind = Turbo
	default:
		return nil
	}
	list := make([]RatioViolation, len(b.iterations))
	for i, iteration := range b.iterations {
		list[i] = v
		list[i].Iteration = iteration
	}
	return list
}

// judgeRatios examines the iterations in which a core was busy. Iterations too short to be judged
// are judged together with the following ones. Iterations at the end that are too short even
// together are not judged.
func judgeRatios(run CounterRun, core CoreCounts, tolerance, busy float64) (found []RatioViolation) {
	var now block
	for i := range run.WallNS {
		if !run.sound(core.APERF, i) || !run.sound(core.MPERF, i) ||
			float64(core.APERF[i])/run.window(i) < busy || core.APERF[i] == 0 {
			continue
		}
		a, m := float64(core.APERF[i]), float64(core.MPERF[i])
		now.aperf, now.mperf, now.iterations = now.aperf+a, now.mperf+m, append(now.iterations, i)
		if now.enough() {
			found = append(found, now.judge(core, tolerance)...)
			now = block{}
		}
	}
	return found
}

// ratioReason summarizes the violations of one kind.
func ratioReason(run CounterRun, core CoreCounts, kind RatioKind, found []RatioViolation) string {
	var where some
	expected := core.expected()
	worst := expected
	for _, v := range found {
		if v.Kind != kind {
			continue
		}
		where.add(v.Iteration)
		if math.Abs(v.Ratio-expected) > math.Abs(worst-expected) {
			worst = v.Ratio
		}
	}
	if where.n == 0 {
		return ""
	}
	what := "below its set frequency (throttled)"
	if kind == Turbo {
		what = "above its set frequency (turbo)"
	}
	text := fmt.Sprintf("%s ran %s %s; APERF/MPERF at worst %.3f", core.name(), what, run.in(where), worst)
	if math.Abs(expected-1) >= 0.0005 { // as printed
		text += fmt.Sprintf(" instead of %.3f", expected)
	}
	return text
}

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

// mostSlow is the share of iterations below the frequency from which on JudgeCycles speaks.
const mostSlow = 0.05

// JudgeCycles is the verdict on the frequency of processors without APERF and MPERF, such as arm64:
// it returns a sentence if the busiest core made fewer cycles per second than at the frequency that
// it is held at (else than in the fastest tenth of the iterations), in a run in which it was busy
// all the time in at least half of the iterations; "" otherwise. The kernel does not count the time
// for which a core was halted, so the sentence cannot tell a slower clock from waiting.
func JudgeCycles(run CounterRun, known []results.Frequency, tolerance float64) string {
	const shortest = 1_000_000 // nanoseconds: the readings are a part of short iterations
	held := map[int]float64{}
	for _, f := range known {
		if f.Core != nil && f.HeldKHz != nil {
			held[*f.Core] = 1000 * float64(*f.HeldKHz)
		}
	}
	var at []int
	var rates []float64 // Hz, or relative to the held frequency
	relative := len(held) > 0
	for i, wall := range run.WallNS {
		best := 0.0
		for _, core := range run.Cores {
			if len(core.APERF) > 0 && len(core.MPERF) > 0 {
				return ""
			}
			hz, isHeld := held[core.Core]
			if core.Core == TaskThreads || wall < shortest || !run.sound(core.Cycles, i) ||
				relative && !isHeld {
				continue
			}
			rate := float64(core.Cycles[i]) / run.seconds(i)
			if relative {
				rate /= hz
			}
			best = max(best, rate)
		}
		if best > 0 {
			at, rates = append(at, i), append(rates, best)
		}
	}
	if len(rates) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(rates))
	full := 1.0
	if !relative {
		full = sorted[len(sorted)*9/10]
	}
	var slow some
	lost := 0.0
	for i, rate := range rates {
		if rate < full*(1-tolerance) {
			slow.add(at[i])
			lost += 1 - rate/full
		}
	}
	if 2*slow.n > len(rates) || float64(slow.n) < mostSlow*float64(len(rates)) || slow.n == 0 {
		return ""
	}
	return fmt.Sprintf("the busiest core made %.0f %% fewer cycles per second than at its frequency %s: the "+
		"processor was throttled, or the benchmark waited", 100*lost/float64(slow.n), run.in(slow))
}
