package steady

import (
	"slices"

	"krund/internal/analysis/arith"
)

// Rule names how a Level was computed.
type Rule string

// The rules of LevelOf.
const (
	SteadyState Rule = "steady state" // mean of the steady iterations without outliers
	SecondHalf  Rule = "second half"  // 20 % trimmed mean of the second half of the iterations
)

// Level is the value that represents a process execution in tables and comparisons, in the unit of
// its iterations.
type Level struct {
	Value float64 `json:"value"`
	Rule  Rule    `json:"rule"`
}

// trimmed is the share of the values that the trimmed mean leaves out at each end.
const trimmed = 0.2

// LevelOf reduces an execution to one value, without looking at any other execution, so that
// executions remain exchangeable in a comparison: the mean of the iterations that represent it,
// each with the same weight, with the rule SecondHalf without a fifth of them at each end. values
// must not be empty.
func LevelOf(values []float64, outliers []int, ranges []Range) Level {
	kept, rule := Representative(values, outliers, ranges)
	return Level{rule.Mean(kept), rule}
}

// Representative returns the iterations that represent an execution, sorted: those in its steady
// ranges, without the outliers (ascending indexes); without a steady state the second half of all.
func Representative(values []float64, outliers []int, ranges []Range) ([]float64, Rule) {
	kept, rule := slices.Concat(Values(values, outliers, ranges)...), SteadyState
	if len(kept) == 0 {
		kept, rule = slices.Clone(values[len(values)/2:]), SecondHalf
	}
	slices.Sort(kept)
	return kept, rule
}

// Mean is the mean that LevelOf takes of representative iterations. Equal values have exactly their
// own mean.
func (r Rule) Mean(sorted []float64) float64 {
	if r == SecondHalf {
		cut := int(trimmed * float64(len(sorted)))
		sorted = sorted[cut : len(sorted)-cut]
	}
	return arith.Mean(sorted)
}
