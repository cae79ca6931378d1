package verdict

import (
	"fmt"
	"math"
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

// judgeRatios examines the iterations in which a core was busy and returns its ratio over all of
// them. Iterations too short to be judged are judged together with the following ones. Iterations
// at the end that are too short even together are not judged.
func judgeRatios(run CounterRun, core CoreCounts, tolerance, busy float64) ([]RatioViolation, float64) {
	var found []RatioViolation
	var all, now block
	for i := range run.WallNS {
		if !run.sound(core.APERF, i) || !run.sound(core.MPERF, i) ||
			float64(core.APERF[i])/run.window(i) < busy || core.APERF[i] == 0 {
			continue
		}
		a, m := float64(core.APERF[i]), float64(core.MPERF[i])
		all.aperf, all.mperf = all.aperf+a, all.mperf+m
		now.aperf, now.mperf, now.iterations = now.aperf+a, now.mperf+m, append(now.iterations, i)
		if now.enough() {
			found = append(found, now.judge(core, tolerance)...)
			now = block{}
		}
	}
	return found, all.aperf / all.mperf
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
