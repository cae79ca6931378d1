package report

import (
	"math"
	"slices"

	"krund/internal/analysis/warmup"
)

// Run is the geometry of one execution's run-sequence plot, as in the study's
// Figure 1: values against iterations, with what the analysis found.
type Run struct {
	Values   []float64 // of every iteration, in the document's unit
	Outliers []int     // ascending indexes
	Common   []int     // of these, those that other executions have too
	Segments []warmup.Segment
	Changes  []int // changepoints: last index of each segment but the last

	Full Span // of the values
	Zoom Span // of the strip above: where the second half of the values lies
	// Inset is how many of the first iterations the inset shows; 0: none,
	// because there are so few in all.
	Inset     int
	InsetSpan Span
}

// Span is a range of an axis, Low < High.
type Span struct{ Low, High float64 }

const (
	insetIterations = 50 // of the study's insets
	smallestInset   = 4 * insetIterations
	zoomTail        = 0.02 // part of the values that may lie above, and below, the strip
	zoomMargin      = 0.25
	fullMargin      = 0.04
)

// NewRun prepares the plot of an execution. values may be empty; NaN leave gaps.
func NewRun(values []float64, e *warmup.Execution) Run {
	r := Run{Values: values, Full: spanOf(values, 0, fullMargin)}
	if e != nil {
		r.Outliers, r.Common, r.Segments, r.Changes = e.Outliers, e.CommonOutliers, e.Segments, e.Changepoints
	}
	r.Zoom = spanOf(values[len(values)/2:], zoomTail, zoomMargin)
	if len(values) >= smallestInset {
		r.Inset = insetIterations
		r.InsetSpan = spanOf(values[:r.Inset], 0, fullMargin)
	}
	return r
}

// spanOf is the range of the values without a part of them at each end, and a
// margin around. Without values it is 0 to 1.
func spanOf(values []float64, tail, margin float64) Span {
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(values)), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if len(sorted) == 0 {
		return Span{0, 1}
	}
	cut := int(tail * float64(len(sorted)))
	low, high := sorted[cut], sorted[len(sorted)-1-cut]
	around := (high - low) * margin
	if around == 0 {
		around = max(math.Abs(high)*0.01, 1e-12)
	}
	return Span{low - around, high + around}
}

// Ticks gives up to about n round values within the span.
func (s Span) Ticks(n int) []float64 {
	width := s.High - s.Low
	if !(width > 0) || math.IsInf(width, 0) || n < 1 {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(width/float64(n))))
	for _, k := range []float64{1, 2, 5, 10} {
		if width/(step*k) <= float64(n) {
			step *= k
			break
		}
	}
	var ticks []float64
	for i := math.Ceil(s.Low / step); i*step <= s.High && len(ticks) <= 2*n; i++ {
		ticks = append(ticks, i*step+0) // + 0 makes a zero of a negative zero
	}
	return ticks
}

// MeanLine is a horizontal dashed line of a plot: a segment's mean.
type MeanLine struct {
	From, To   float64 // iterations, by index
	Mean       float64
	Equivalent bool // to the last segment: black, others grey
}

// Means gives the segments' means over the iterations they cover.
func (r *Run) Means() []MeanLine {
	lines := make([]MeanLine, len(r.Segments))
	for i, s := range r.Segments {
		to := len(r.Values) - 1
		if i+1 < len(r.Segments) {
			to = r.Segments[i+1].Start
		}
		lines[i] = MeanLine{float64(s.Start), float64(to), s.Mean, s.Equivalent}
	}
	return lines
}
