// Package classify assigns a class to the iterations of a process execution from the segments that
// changepoint analysis found, and to a pair from the classes of its executions (sections 4.2 and
// 4.3 of the study).
//
// The last segment is the reference: segments equivalent to it belong to the steady state. The
// [Mode] defines equivalence. Start reading at [Rule.Classify].
package classify

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"krund/internal/analysis/changepoint"
	"krund/internal/display"
)

// Class is the class of one process execution. The strings are the study's.
type Class string

// The classes. Flat and Warmup are good, the others bad.
const (
	Flat          Class = "flat"            // all segments are equivalent to the last
	Warmup        Class = "warmup"          // some are slower, none is faster
	Slowdown      Class = "slowdown"        // at least one is faster
	NoSteadyState Class = "no steady state" // one of them lies in the last iterations
)

// Classes lists all classes in the order of the tables.
var Classes = []Class{Flat, Warmup, Slowdown, NoSteadyState}

// Mode is a set of classification rules.
type Mode int

const (
	// Paper reproduces warmup_stats, including its quirks, so that results can be compared with the
	// study's:
	//   - the bounds around the last segment are [min(m−v, m−δ), max(m+v, m+δ)], where m is its
	//     mean and v its VARIANCE taken as seconds; a segment is equivalent when mean+v >= lower
	//     bound and mean−v <= upper bound, with its own v;
	//   - δ in percent is relative to the FASTEST segment's mean;
	//   - a segment lies in the last s of n iterations when its last index (from 0) is above n−s,
	//     so that s−1 equivalent iterations suffice;
	//   - going backward from the end, the first segment that is not equivalent decides "no steady
	//     state", and "slowdown" as soon as one is faster.
	Paper Mode = iota
	// Relative does not depend on the unit of the data:
	//   - a segment is equivalent when its mean is within
	//     max(standard deviation of the last segment, δ) of the last mean;
	//   - δ in percent is relative to the last segment's mean;
	//   - the last s iterations must all be equivalent.
	Relative
)

var modeNames = []string{Paper: "paper", Relative: "relative"}

// String returns the name in outputs, which ParseMode parses.
func (m Mode) String() string { return modeNames[m] }

// ParseMode parses the name of a value.
func ParseMode(s string) (Mode, error) { return display.Word[Mode]("mode", s, modeNames) }

// MarshalText returns the text of String.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses text with ParseMode.
func (m *Mode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMode(string(text))
	return err
}

// Rule decides which segments are equivalent.
type Rule struct {
	Mode  Mode
	Delta Delta
	// Raw excludes the last segment's variance (Relative: standard deviation) from the bounds
	// (warmup_stats --raw-deltas, which keeps the other segment's own variance in the comparison).
	Raw bool
	// Steady is the number of iterations at the end that must be equivalent.
	Steady int
}

// Bounds is the interval around the last segment with which other segments are compared.
type Bounds struct{ Low, High float64 }

// Bounds returns the interval for at least one segment.
func (r Rule) Bounds(segments []changepoint.Segment) Bounds {
	last := segments[len(segments)-1]
	delta := r.Delta.of(r.reference(segments))
	noise := last.Variance
	if r.Mode == Relative {
		noise = math.Sqrt(last.Variance)
	}
	if r.Raw {
		return Bounds{last.Mean - delta, last.Mean + delta}
	}
	return Bounds{
		Low:  min(last.Mean-noise, last.Mean-delta),
		High: max(last.Mean+noise, last.Mean+delta),
	}
}

// reference is the mean to which a delta in percent refers.
func (r Rule) reference(segments []changepoint.Segment) float64 {
	if r.Mode == Relative {
		return math.Abs(segments[len(segments)-1].Mean)
	}
	fastest := segments[0].Mean
	for _, s := range segments {
		fastest = min(fastest, s.Mean)
	}
	return fastest
}

// Equivalent reports whether s is equivalent to the last segment, from which b was computed.
func (r Rule) Equivalent(s changepoint.Segment, b Bounds) bool {
	own := s.Variance
	if r.Mode == Relative {
		own = 0
	}
	return s.Mean+own >= b.Low && s.Mean-own <= b.High
}

// Classify returns the class of an execution of n iterations with the given segments (at least
// one), by index in the execution including outliers (changepoint.Segmentation.At).
func (r Rule) Classify(segments []changepoint.Segment, n int) Class {
	b := r.Bounds(segments)
	class := Flat
	for i := len(segments) - 2; i >= 0; i-- {
		s := segments[i]
		if r.Equivalent(s, b) {
			continue
		}
		if r.late(s, n) {
			return NoSteadyState
		}
		if r.faster(s, b) {
			return Slowdown
		}
		class = Warmup
	}
	return class
}

// late reports whether s extends into the iterations that must be steady.
func (r Rule) late(s changepoint.Segment, n int) bool {
	if r.Mode == Relative {
		return s.End > n-r.Steady
	}
	return s.End-1 > n-r.Steady
}

func (r Rule) faster(s changepoint.Segment, b Bounds) bool {
	if r.Mode == Relative {
		return s.Mean < b.Low
	}
	return s.Mean-s.Variance < b.Low
}

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

// PairClass is the class of a pair: the common class of its process executions, or inconsistent.
type PairClass string

// The inconsistent classes. None is the class of a pair without classified executions.
const (
	GoodInconsistent PairClass = "good inconsistent" // only flat and warmup (=)
	BadInconsistent  PairClass = "bad inconsistent"  // any other mixture (×)
	None             PairClass = ""
)

// Counts is the number of executions in each class.
type Counts struct {
	Flat          int `json:"flat"`
	Warmup        int `json:"warmup"`
	Slowdown      int `json:"slowdown"`
	NoSteadyState int `json:"no_steady_state"`
}

// of is the count of one class; nil for anything else.
func (c *Counts) of(class Class) *int {
	switch class {
	case Flat:
		return &c.Flat
	case Warmup:
		return &c.Warmup
	case Slowdown:
		return &c.Slowdown
	case NoSteadyState:
		return &c.NoSteadyState
	}
	return nil
}

// Count counts the classes and ignores anything else.
func Count(classes []Class) Counts {
	var c Counts
	for _, class := range classes {
		if n := c.of(class); n != nil {
			*n++
		}
	}
	return c
}

// Of returns the count of one class.
func (c Counts) Of(class Class) int {
	if n := c.of(class); n != nil {
		return *n
	}
	return 0
}

// Total is the number of classified executions.
func (c Counts) Total() int { return c.Flat + c.Warmup + c.Slowdown + c.NoSteadyState }

// Class returns the pair's class.
func (c Counts) Class() PairClass {
	total := c.Total()
	if total == 0 {
		return None
	}
	for _, class := range Classes {
		if c.Of(class) == total {
			return PairClass(class)
		}
	}
	if c.Flat+c.Warmup == total {
		return GoodInconsistent
	}
	return BadInconsistent
}

// Symbol is the study's sign for a pair's class in plain text: "-" flat, "\" warmup, "/" slowdown,
// "~" no steady state, "=" and "x" inconsistent.
func (p PairClass) Symbol() string {
	return map[PairClass]string{PairClass(Flat): "-", PairClass(Warmup): `\`, PairClass(Slowdown): "/",
		PairClass(NoSteadyState): "~", GoodInconsistent: "=", BadInconsistent: "x"}[p]
}
