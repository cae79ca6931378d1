package outlier

import (
	"fmt"
	"math"

	"krund/internal/display"
)

// Rule selects the method of outlier detection.
type Rule int

// The rules.
const (
	Study  Rule = iota // Find
	Traini             // FindUnion
)

var ruleNames = []string{Study: "study", Traini: "traini"}

// String returns the name in outputs, which ParseRule parses.
func (r Rule) String() string { return ruleNames[r] }

// ParseRule parses the name of a value.
func ParseRule(s string) (Rule, error) { return display.Word[Rule]("outlier rule", s, ruleNames) }

// MarshalText returns the text of String.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses text with ParseRule.
func (r *Rule) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRule(string(text))
	return err
}

// Find applies the rule's function.
func (r Rule) Find(series []float64, window int) ([]int, error) {
	if r == Traini {
		return FindUnion(series, window)
	}
	return Find(series, window)
}

// Traini et al. (2023) use wider percentiles, and test each iteration with every window that
// contains it.
const (
	unionLow  = 0.01
	unionHigh = 0.99
	// unionTime is the duration, in seconds, of the iterations whose means form their series. It
	// determines how many calls a mean represents.
	unionTime = 0.1
)

// FindUnion is the rule of Traini et al. (2023; filter_outliers.py) for series of means of many
// short calls, in seconds: an iteration is an outlier when it is one in any full window of the
// given length that contains it,
//
//	outside median ± 3 × (99th percentile − 1st percentile),
//
// except the first ⌈window / log(1 + ⌈0.1/mean⌉)⌉ iterations, which may be warmup. The result and
// the errors are those of Find.
func FindUnion(series []float64, size int) ([]int, error) {
	if size < 2 {
		return nil, fmt.Errorf("window %d: %w", size, ErrWindow)
	}
	if err := checkFinite(series); err != nil {
		return nil, err
	}
	found := []int{}
	skip := unionSkip(series, size)
	if skip < 0 || skip+size > len(series) {
		return found, nil
	}
	judged := series[skip:]
	low, high := windowLimits(judged, size)
	lows, highs := slidingMax(low, size), slidingMin(high, size)
	for i, v := range judged {
		if v > highs[i] || v < lows[i] {
			found = append(found, skip+i)
		}
	}
	return found, nil
}

// unionSkip is the number of first iterations that are never outliers, or -1 when the mean is not
// positive and the number of calls is undefined.
func unionSkip(series []float64, size int) int {
	sum := 0.0
	for _, v := range series {
		sum += v
	}
	calls := math.Ceil(unionTime / (sum / float64(len(series))))
	skip := math.Ceil(float64(size) / math.Log1p(calls))
	if !(calls > 0) || skip > float64(len(series)) {
		return -1
	}
	return int(skip)
}

// windowLimits returns the limits of every full window, by its first index.
func windowLimits(series []float64, size int) (low, high []float64) {
	w := newWindow(series, size)
	for i := range len(series) - size + 1 {
		w.slide(i, i+size)
		median := w.median()
		width := float64(band * (w.quantile(highest, unionHigh) - w.quantile(lowest, unionLow)))
		low, high = append(low, median-width), append(high, median+width)
	}
	return low, high
}

// quantile returns numpy.quantile(q) of the values, for q below 1.
func (w *window) quantile(cursor int, q float64) float64 {
	at := float64(float64(w.to-w.from-1) * q)
	floor := math.Floor(at)
	a, b := w.pair(cursor, int(floor))
	if t := at - floor; t < 0.5 {
		return a + float64((b-a)*t)
	}
	return b - float64((b-a)*(1-(at-floor)))
}

// slidingMin returns, for each of the len(values)+size-1 iterations, the minimum value of the
// windows that contain it (those that begin at most size-1 before it).
func slidingMin(values []float64, size int) []float64 {
	out := make([]float64, len(values)+size-1)
	var queue []int // indexes of ascending values
	for i := range out {
		if i < len(values) {
			for len(queue) > 0 && values[queue[len(queue)-1]] >= values[i] {
				queue = queue[:len(queue)-1]
			}
			queue = append(queue, i)
		}
		if queue[0] <= i-size {
			queue = queue[1:]
		}
		out[i] = values[queue[0]]
	}
	return out
}

func slidingMax(values []float64, size int) []float64 {
	negated := make([]float64, len(values))
	for i, v := range values {
		negated[i] = -v
	}
	out := slidingMin(negated, size)
	for i := range out {
		out[i] = -out[i]
	}
	return out
}
