package classify

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"krund/internal/display"
)

// Delta is the smallest relevant difference between segments, in the unit of the values or in
// percent of a segment's mean.
type Delta struct {
	Value   float64
	Percent bool
}

// The study's delta, a millisecond, and the default of Relative.
var (
	PaperDelta    = Delta{Value: 0.001}
	RelativeDelta = Delta{Value: 1, Percent: true}
)

// ParseDelta parses a number ("0.001": seconds, for time) or a percentage ("1%").
func ParseDelta(s string) (Delta, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return Delta{}, fmt.Errorf("delta %q: write seconds (0.001) or a percentage (1%%)", s)
	}
	return Delta{Value: v, Percent: percent}, nil
}

// String returns the form that ParseDelta parses.
func (d Delta) String() string {
	s := strconv.FormatFloat(d.Value, 'g', -1, 64)
	if d.Percent {
		return s + "%"
	}
	return s
}

// In returns the delta for people: "1%", or "1 ms" for values in seconds. unit is that of the
// values.
func (d Delta) In(unit string) string {
	if d.Percent {
		return d.String()
	}
	return display.UnitOf(unit).Short(d.Value)
}

// MarshalText returns the text of String.
func (d Delta) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses text with ParseDelta.
func (d *Delta) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDelta(string(text))
	return err
}

// of returns the delta in the unit of the values.
func (d Delta) of(mean float64) float64 {
	if d.Percent {
		return mean * (d.Value / 100)
	}
	return d.Value
}
