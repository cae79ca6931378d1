// Package quantile is the median and the linearly interpolated percentile, as the study's tools
// (warmup_stats, numpy's default, R's type 7) compute them.
package quantile

import (
	"math"
	"slices"
)

// Position gives where the pc-th percentile (0 to 100) of n sorted values lies: between indexes lo
// and hi = lo or lo+1, with the weights each gets. The arithmetic is warmup_stats': position
// (n-1)*(pc/100), and a whole position takes that value with weight 1.
func Position(n int, pc float64) (lo, hi int, wlo, whi float64) {
	at := float64(float64(n-1) * (pc / 100))
	floor, ceil := math.Floor(at), math.Ceil(at)
	if floor == ceil {
		return int(at), int(at), 1, 0
	}
	return int(floor), int(ceil), ceil - at, at - floor
}

// Percentile gives the pc-th percentile (0 to 100) of sorted values. NaN when there are none.
func Percentile(sorted []float64, pc float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	lo, hi, wlo, whi := Position(len(sorted), pc)
	if lo == hi {
		return sorted[lo]
	}
	return float64(sorted[lo]*wlo) + float64(sorted[hi]*whi)
}

// Median gives the middle of sorted values, or the mean of the middle two. NaN when there are none.
func Median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Spread is a middle with the percentiles around it that the study reports (and calls an
// inter-quartile range, which it is not): 5% and 95%.
type Spread struct {
	Median float64 `json:"median"`
	P5     float64 `json:"p5"`
	P95    float64 `json:"p95"`
}

// SpreadOf summarises values in any order, which it does not change. All three are NaN when there
// are none.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Median: Median(sorted), P5: Percentile(sorted, 5), P95: Percentile(sorted, 95)}
}
