package report

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
)

// Run is the geometry of one execution's run-sequence plot, as in the study's Figure 1: values
// against iterations, with the findings of the analysis.
type Run struct {
	Values   []float64 // of every iteration, in the document's unit
	Outliers []int     // ascending indexes
	Common   []int     // of these, those that also occur in other executions
	Segments []warmup.Segment
	Changes  []int // changepoints: last index of each segment but the last

	Full Span // of the values, with room for the inset
	Zoom Span // of the strip above: where the second half of the values lies
	// Inset is the number of first iterations in the inset; 0: none, because there are too few
	// iterations.
	Inset     int
	InsetSpan Span

	Events []MachineEvent // what krund found out about the machine, with a place on the axis
	Lanes  []explain.Lane // events of the VM and the kernel
	Panels []Panel        // other columns
}

// Span is a range of an axis, Low < High.
type Span struct{ Low, High float64 }

const (
	insetIterations = 50 // of the study's insets
	smallestInset   = 4 * insetIterations
	zoomTail        = 0.02 // share of the values that may lie above, and below, the strip
	zoomMargin      = 0.25
	fullMargin      = 0.04
	insetWidth      = 0.28 // of the main plot
	insetHeight     = 0.46
	insetLeft       = 0.985 - insetWidth // from the upper left of the main plot
	insetTop        = 0.03
	insetHides      = 0.02 // share of the values it may hide; else the y axis is extended by
	insetRoom       = 0.95 // of its length
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
		if float64(r.hidden()) > insetHides*float64(len(values)) {
			r.Full.High += (r.Full.High - r.Full.Low) * insetRoom
		}
	}
	return r
}

// hidden counts the values behind the inset.
func (r *Run) hidden() (count int) {
	n, height := float64(len(r.Values)), r.Full.High-r.Full.Low
	for _, v := range r.Values[int(insetLeft*n):int((insetLeft+insetWidth)*n)] {
		if down := (r.Full.High - v) / height; down > insetTop && down < insetTop+insetHeight {
			count++
		}
	}
	return count
}

// Numbers are the iterations on the axis, from 1, as in the study's plots; the other fields of a
// Run are indexes, from 0.
func (r *Run) Numbers() Span { return Span{1, max(float64(len(r.Values)), 2)} }

// spanOf is the range of the values without a share of them at each end, plus a margin. Without
// values it is 0 to 1.
func spanOf(values []float64, tail, margin float64) Span {
	sorted := slices.DeleteFunc(slices.Clone(values),
		func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	if len(sorted) == 0 {
		return Span{0, 1}
	}
	arith.Sort(sorted)
	cut := int(tail * float64(len(sorted)))
	low, high := sorted[cut], sorted[len(sorted)-1-cut]
	around := (high - low) * margin
	if around == 0 {
		around = max(math.Abs(high)*0.01, 1e-12)
	}
	return Span{low - around, high + around}
}

// MeanLine is a horizontal dashed line of a plot: a segment's mean.
type MeanLine struct {
	From, To   float64 // iterations, by index
	Mean       float64
	Equivalent bool // to the last segment: black, others gray
}

// Means returns the segments' means over their iterations.
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
