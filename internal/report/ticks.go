package report

import (
	"math"
	"strconv"

	"krund/internal/display"
)

// Ticks returns up to about n round values within the span.
func (s Span) Ticks(n int) []float64 { return s.ticks(n, 0) }

// WholeTicks returns Ticks that are integers.
func (s Span) WholeTicks(n int) []float64 { return s.ticks(n, 1) }

func (s Span) ticks(n int, least float64) []float64 {
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
	step = max(step, least)
	var ticks []float64
	for i := math.Ceil(s.Low / step); i*step <= s.High && len(ticks) <= 2*n; i++ {
		ticks = append(ticks, i*step+0) // + 0 makes a zero of a negative zero
	}
	return ticks
}

// tickText formats an axis value in the axis's unit, with the digits that distinguish it from its
// neighbors.
func tickText(v float64, s Span, unit display.Unit) string {
	if v == 0 {
		return "0"
	}
	places := max(0, 1-int(math.Floor(math.Log10(unit.Scale(s.High-s.Low)))))
	return strconv.FormatFloat(unit.Scale(v), 'f', min(places, 9), 64)
}

// axisName names a column with the unit of its axis: "wall (ms)".
func axisName(column string, unit display.Unit) string {
	if unit.Name() == "" {
		return column
	}
	return column + " (" + unit.Name() + ")"
}

// axis returns the unit for the run's axis: the one that fits the second half of the values, unless
// the numbers for the highest value would be too long.
func (r *Run) axis(unit display.Unit) display.Unit {
	const most = 1e5
	fits := unit.For(r.Zoom.High)
	if fits.Scale(r.Full.High) >= most {
		return unit.For(r.Full.High)
	}
	return fits
}
