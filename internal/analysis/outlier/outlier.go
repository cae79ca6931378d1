// Package outlier finds the iterations that lie far from their neighbors.
//
// The rule is the study's (section 4.1, after Tukey 1977): a value is an outlier when it is outside
//
//	median ± 3 × (90th percentile − 10th percentile)
//
// of the window around it. Details are those of the study's program (warmup_stats, outliers.py):
// the window of iteration i, from 0, is [i−w/2, i+w/2) cut at both ends of the series; it is
// skipped when it begins at 0 and ends before w, so that slow first iterations, which are warmup,
// are kept; at the other end the windows get shorter. Percentiles are linearly interpolated, both
// comparisons strict. A series shorter than the window still has its later half judged, by what
// there is.
package outlier

import (
	"errors"
	"fmt"
	"math"

	"krund/internal/analysis/quantile"
)

// The study's numbers.
const (
	band        = 3.0
	lowPercent  = 10.0
	highPercent = 90.0
)

// ErrWindow means that a window of fewer than two iterations cannot judge.
var ErrWindow = errors.New("outlier window must be at least 2 iterations")

// ErrNotFinite means that a series has a NaN or an infinity, for which "far from its neighbors" has
// no meaning.
var ErrNotFinite = errors.New("not a finite number")

// Rule is a way to find outliers.
type Rule int

// The rules.
const (
	Study  Rule = iota // Find
	Traini             // FindUnion
)

// String is the name ParseRule reads.
func (r Rule) String() string {
	if r == Traini {
		return "traini"
	}
	return "study"
}

// ParseRule reads "study" or "traini".
func ParseRule(s string) (Rule, error) {
	switch s {
	case "study":
		return Study, nil
	case "traini":
		return Traini, nil
	}
	return 0, fmt.Errorf("unknown outlier rule %q; write study or traini", s)
}

// MarshalText is String.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is ParseRule.
func (r *Rule) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRule(string(text))
	return err
}

// Find is the rule's function.
func (r Rule) Find(series []float64, window int) ([]int, error) {
	if r == Traini {
		return FindUnion(series, window)
	}
	return Find(series, window)
}

// Find gives the indexes, from 0 and ascending, of the outliers of a series, judged by windows of
// the given number of iterations. The series is not changed. Time grows as n log n, whatever the
// window. The errors wrap ErrWindow and ErrNotFinite.
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

// positions are where the percentiles of a window lie; they change only with its size.
type positions struct {
	size      int
	low, high point
}

// point is a percentile's place among sorted values.
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

// limits gives the values beyond which an iteration of this window is an outlier.
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

// Remove gives the series without the iterations at the given ascending indexes, and for each value
// kept its index in the series.
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
