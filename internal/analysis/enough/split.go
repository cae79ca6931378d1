package enough

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/warmup"
)

// Split is how the time of a boot (an execution, if each has its own or there is none) gives the
// smallest variance: boots or executions are as many as the time allows.
type Split struct {
	PerBoot    int `json:"executions_per_boot"` // 0: all; the machine is not restarted
	Iterations int `json:"steady_iterations"`   // of an execution, after its warm-up
	// Variance is that of the result, relative to the split that was measured, at equal time.
	Variance warmup.Real `json:"variance"`
}

// Bounds of what is recommended: more than ten executions per boot gain little, even if boots do
// not differ (with boots of two minutes and executions of one, 20 % of the variance), and a pilot
// can easily miss that they do. Iterations beyond ten times those of the pilot have not been seen.
const (
	mostPerBoot    = 10
	mostIterations = 10
)

// split returns the optimum r_i = sqrt(c_(i+1)/c_i T_i²/T_(i+1)²) (Kalibera and Jones, section 7);
// nil if costs or components are unknown.
func (v Variation) split(c Costs) *Split {
	known := float64(c.Boot + c.Start + c.Iteration + v.Iteration)
	if math.IsNaN(known) || !(c.Iteration > 0) {
		return nil
	}
	s := &Split{PerBoot: 1}
	t1, t2, t3 := square(float64(v.Iteration)), square(float64(v.Execution)), 0.0
	start := float64(c.Start)
	switch {
	case v.Unit == "boot":
		t3 = square(float64(v.Boot))
		s.PerBoot = optimum(float64(c.Boot), start, t2, t3, mostPerBoot)
	default: // boots cannot be told from executions
		start += float64(c.Boot)
		c.Boot, c.Start = 0, warmup.Real(start)
	}
	s.Iterations = optimum(start, float64(c.Iteration), t1, t2, mostIterations*v.Iterations)
	variance := func(perBoot, iterations float64) float64 {
		return (t3 + (t2+t1/iterations)/perBoot) * c.unit(perBoot, iterations)
	}
	now := variance(v.PerBoot, float64(v.Iterations))
	s.Variance = warmup.Real(variance(float64(s.PerBoot), float64(s.Iterations)) / now)
	if !(s.Variance < 1) {
		s.Variance, s.PerBoot, s.Iterations = 1, int(math.Round(v.PerBoot)), v.Iterations
	}
	return s
}

// optimum returns how often to repeat what costs below within what costs above, with the variances
// of both; 1 to most. A variance of 0 means that no effect was seen.
func optimum(above, below, variance, variationAbove float64, most int) int {
	if variance == 0 || above == 0 {
		return 1
	}
	return int(min(float64(most), max(1, math.Ceil(math.Sqrt(above/below*variance/variationAbove)))))
}

// bottleneck says what limits the result.
func (v Variation) bottleneck() string {
	text := fmt.Sprintf("executions vary by %s", compare.Percent(v.sd()))
	if v.Unit == "boot" {
		text = fmt.Sprintf("boots vary by %s, executions of a boot by %s", compare.Percent(float64(v.Boot)),
			compare.Percent(float64(v.Execution)))
	}
	if math.IsNaN(float64(v.Sampling)) {
		return text + "; they are too short to tell what iterations add"
	}
	text += fmt.Sprintf(", iterations by %s", compare.Percent(float64(v.Sampling)))
	// shares of the variance of a unit's mean
	unit := square(v.sd())
	iterations := square(float64(v.Sampling)) / v.PerBoot / unit
	boots := 0.0
	if v.Unit == "boot" {
		boots = square(float64(v.Boot)) / unit
	}
	const small, large = 0.1, 0.5
	switch {
	case boots >= large:
		text += ": more boots help, more executions in a boot do not"
	case iterations < small:
		text += ": longer executions do not help"
	case iterations >= large:
		text += ": longer executions help"
	default:
		text += fmt.Sprintf(": longer executions take away at most %s of the result's variance",
			compare.Percent(iterations))
	}
	if v.Unit == "boot" && v.Boot == 0 {
		text += fmt.Sprintf("; boots: no effect seen, at most %s of an execution's variance (90 %%)",
			compare.Percent(float64(v.BootShare)))
	}
	return text
}

// differs says whether the second stage has another level than the first one: then its mean is of
// nothing, because machine or program have changed. stages is the number of keys that are asked, of
// which one in a table of twenty may differ by chance.
func differs(first, second []Execution, v Variation, stages int) string {
	if len(second) == 0 {
		return ""
	}
	const most, all = 0.01, 0.05 // of a key, and of the table
	level := min(most, all/float64(max(1, stages)))
	n, m := v.units, max(1, float64(len(second))/v.PerBoot)
	a, b := arith.MeanOf(logLevels(first)), arith.MeanOf(logLevels(second))
	t := math.Abs(a-b) / (v.sd() * math.Sqrt(1/n+1/m))
	if 2*(1-distuv.StudentsT{Sigma: 1, Nu: v.Freedom}.CDF(t)) >= level {
		return ""
	}
	return fmt.Sprintf("the second stage differs by %s from the first: machine or program have changed",
		compare.Percent(math.Expm1(math.Abs(b-a))))
}
