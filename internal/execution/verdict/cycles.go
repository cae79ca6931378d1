package verdict

import (
	"fmt"
	"slices"

	"krund/internal/experiment/results"
)

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
