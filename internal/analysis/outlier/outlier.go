// Package outlier detects iterations that lie far from their neighbors.
//
// The rule is the study's (section 4.1, after Tukey 1977): a value is an outlier when it is outside
//
//	median ± 3 × (90th percentile − 10th percentile)
//
// The details follow the study's program (warmup_stats, outliers.py). The window of iteration i,
// from 0, is [i−w/2, i+w/2), truncated at both ends of the series. It is skipped when it begins at
// 0 and ends before w, so that slow first iterations, which are warmup, are kept; at the other end
// the windows get shorter. Percentiles are linearly interpolated, and both comparisons are strict.
// In a series shorter than the window the second half is still tested, with truncated windows.
package outlier

import (
	"errors"
	"fmt"
	"math"

	"krund/internal/analysis/quantile"
)

// The parameters of the study.
const (
	band        = 3.0
	lowPercent  = 10.0
	highPercent = 90.0
)

// ErrWindow reports a window of fewer than two iterations.
var ErrWindow = errors.New("outlier window must be at least 2 iterations")

// ErrNotFinite reports that a series has a NaN or an infinity.
var ErrNotFinite = errors.New("not a finite number")

// Rule selects the method of outlier detection.
type Rule int

// The rules.
const (
	Study  Rule = iota // Find
	Traini             // FindUnion
)

// String returns the name that ParseRule parses.
func (r Rule) String() string {
	if r == Traini {
		return "traini"
	}
	return "study"
}

// ParseRule parses "study" or "traini".
func ParseRule(s string) (Rule, error) {
	switch s {
	case "study":
		return Study, nil
	case "traini":
		return Traini, nil
	}
	return 0, fmt.Errorf("unknown outlier rule %q; write study or traini", s)
}

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

// Find returns the ascending indexes, from 0, of the outliers of a series, for windows of the given
// number of iterations. The series is not changed. The time is O(n log n) for any window. The
// errors wrap ErrWindow and ErrNotFinite.
func Find(series []float64, window int) ([]int, error) {
	if window < 2 {
		return nil, fmt.Errorf("window %d: %w", window, ErrWindow)
	}
	if err := checkFinite(series); err != nil {
		return nil, err
	}
	found := []int{}
	n, half := len(series), window/2
	if n == 0 {
		return found, nil
	}
	set := newRankSet(series)
	lo, hi := 0, 0 // the set holds [lo, hi)
	var at positions
	for i, v := range series {
		for to := min(n, i+half); hi < to; hi++ {
			set.add(hi)
		}
		for from := max(0, i-half); lo < from; lo++ {
			set.remove(lo)
		}
		if lo == 0 && hi < window {
			continue
		}
		at.update(hi - lo)
		low, high := at.limits(set)
		if v > high || v < low {
			found = append(found, i)
		}
	}
	return found, nil
}

// positions are the positions of a window's percentiles; they depend only on its size.
type positions struct {
	size      int
	low, high point
}

// point is the position of a percentile among sorted values.
type point struct {
	at       int
	wlo, whi float64
}

func (p *positions) update(size int) {
	if p.size == size {
		return
	}
	p.size = size
	p.low = newPoint(size, lowPercent)
	p.high = newPoint(size, highPercent)
}

func newPoint(size int, pc float64) point {
	lo, _, wlo, whi := quantile.Position(size, pc)
	return point{lo, wlo, whi}
}

// limits returns the values beyond which an iteration of this window is an outlier.
func (p *positions) limits(set *rankSet) (low, high float64) {
	median, next := set.pair((p.size - 1) / 2)
	if p.size%2 == 0 {
		median = (median + next) / 2
	}
	width := float64(band * (p.high.in(set) - p.low.in(set)))
	return median - width, median + width
}

func (p point) in(set *rankSet) float64 {
	a, b := set.pair(p.at)
	if p.whi == 0 {
		return a
	}
	return float64(a*p.wlo) + float64(b*p.whi)
}

func checkFinite(series []float64) error {
	for i, v := range series {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("iteration %d is %v: %w", i+1, v, ErrNotFinite)
		}
	}
	return nil
}

// Remove returns the series without the iterations at the given ascending indexes, and the index in
// the original series of each remaining value.
func Remove(series []float64, outliers []int) (kept []float64, index []int) {
	kept = make([]float64, 0, len(series)-len(outliers))
	index = make([]int, 0, len(series)-len(outliers))
	next := 0
	for i, v := range series {
		if next < len(outliers) && outliers[next] == i {
			next++
			continue
		}
		kept = append(kept, v)
		index = append(index, i)
	}
	return kept, index
}
