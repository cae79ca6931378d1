package verdict

import (
	"errors"
	"fmt"
	"math"
)

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
