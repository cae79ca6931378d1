// Package steady determines when a process execution reached its steady state, how long that took,
// and which iterations belong to it (section 4.4 of the study). Start reading at [Of].
package steady

import (
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/changepoint"
	"krund/internal/analysis/classify"
)

// Range is a stretch of iterations by index, from 0: Start to End-1.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// State is the steady state of one process execution.
type State struct {
	// FirstSegment is the index of the first segment of the contiguous run of equivalent segments
	// that ends with the last one.
	FirstSegment int
	// Iteration is the first steady iteration, from 1 (in mode Paper the one before it, unless
	// flat). 1 when flat.
	Iteration int
	// ToReach is the sum of the iterations before the steady state, outliers included, in the unit
	// of the values. 0 when flat.
	ToReach float64
	// Mean is the unweighted mean of the steady segments' means.
	Mean float64
	// Ranges are the steady segments, ascending, as [Start, End) in the execution with its
	// outliers.
	Ranges []Range
}

// Of determines the steady state of an execution (values including outliers) with the given
// segments and class. ok is false for classify.NoSteadyState.
//
// With rule.Mode Paper the quirks of warmup_stats are kept: Iteration is the last one of the
// previous segment, and ToReach excludes it; the last segment's range begins there as well, so that
// it includes a value of the previous segment; and Raw is ignored. With Relative, Iteration is the
// first of the steady segment, ToReach the time before it, and the ranges do not overlap.
func Of(values []float64, segments []changepoint.Segment, class classify.Class, rule classify.Rule) (s State,
	ok bool) {
	if class == classify.NoSteadyState || len(segments) == 0 {
		return State{}, false
	}
	if rule.Mode == classify.Paper {
		rule.Raw = false
	}
	bounds := rule.Bounds(segments)
	last := len(segments) - 1
	s = State{FirstSegment: last, Iteration: 1}
	for s.FirstSegment > 0 && rule.Equivalent(segments[s.FirstSegment-1], bounds) {
		s.FirstSegment--
	}
	var means []float64
	for i := s.FirstSegment; i <= last; i++ {
		means = append(means, segments[i].Mean)
		s.Ranges = append(s.Ranges, rangeOf(segments, i, len(values), rule.Mode))
	}
	s.Mean = arith.Sum(means) / float64(len(means))
	if class != classify.Flat {
		s.Iteration, s.ToReach = reach(values, segments, s.FirstSegment, rule.Mode)
	}
	return s, true
}

// rangeOf is the range of segment i among n iterations.
func rangeOf(segments []changepoint.Segment, i, n int, mode classify.Mode) Range {
	r := Range{Start: 0, End: segments[i].End}
	if i > 0 {
		r.Start = segments[i-1].End
	}
	if i == len(segments)-1 {
		r.End = n
		if mode == classify.Paper && i > 0 {
			r.Start--
		}
	}
	return r
}

// reach returns the first steady iteration, from 1, and the time before it.
func reach(values []float64, segments []changepoint.Segment, first int, mode classify.Mode) (iteration int,
	before float64) {
	// Python's index -1: when the bounds with the variance find every segment equivalent although
	// the class, determined without it, is not flat, the study's program uses the last changepoint.
	if first == 0 {
		if mode != classify.Paper || len(segments) < 2 {
			return 1, 0
		}
		first = len(segments) - 1
	}
	begin := segments[first-1].End
	if mode == classify.Paper {
		begin--
	}
	for _, v := range values[:begin] {
		before += v
	}
	return begin + 1, before
}

// Values returns the values of each range without the outliers (ascending indexes).
func Values(values []float64, outliers []int, ranges []Range) [][]float64 {
	segments := make([][]float64, len(ranges))
	for k, r := range ranges {
		segment := make([]float64, 0, r.End-r.Start)
		next, _ := slices.BinarySearch(outliers, r.Start)
		for i := r.Start; i < r.End; i++ {
			if next < len(outliers) && outliers[next] == i {
				next++
				continue
			}
			segment = append(segment, values[i])
		}
		segments[k] = segment
	}
	return segments
}

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
