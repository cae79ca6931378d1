package report

import (
	"math"
	"strconv"
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

// prefixes are the SI prefixes that axes use, from the largest.
var prefixes = [...]struct {
	factor float64
	letter string
}{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9,
	"n"}}

// tickText formats an axis value with the digits that distinguish it from its neighbors. Very large
// and very small values get an SI prefix, the same on the whole axis.
func tickText(v float64, s Span) string {
	if v == 0 {
		return "0"
	}
	factor, letter := 1.0, ""
	if a := max(math.Abs(s.Low), math.Abs(s.High)); a >= 1e6 || a < 1e-4 {
		for _, p := range prefixes {
			factor, letter = p.factor, p.letter
			if a >= p.factor {
				break
			}
		}
	}
	places := max(0, 1-int(math.Floor(math.Log10((s.High-s.Low)/factor))))
	return strconv.FormatFloat(v/factor, 'f', min(places, 9), 64) + letter
}
