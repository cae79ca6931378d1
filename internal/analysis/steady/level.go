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
// executions remain exchangeable in a comparison: the mean of the iterations in its steady ranges,
// without the outliers (ascending indexes), each iteration with the same weight; without a steady
// state the 20 % trimmed mean of the second half of all iterations. values must not be empty.
func LevelOf(values []float64, outliers []int, ranges []Range) Level {
	if kept := slices.Concat(Values(values, outliers, ranges)...); len(kept) > 0 {
		return Level{arith.Sum(kept) / float64(len(kept)), SteadyState}
	}
	sorted := slices.Sorted(slices.Values(values[len(values)/2:]))
	cut := int(trimmed * float64(len(sorted)))
	kept := sorted[cut : len(sorted)-cut]
	return Level{arith.Sum(kept) / float64(len(kept)), SecondHalf}
}
