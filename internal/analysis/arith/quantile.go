// Package arith implements arithmetic that gives identical bits on every processor.
//
// The study's changepoints come from R. On difficult series (constant runs of a coarse clock, large
// means with small spread) R's answer depends on how its sums are rounded: R accumulates in the
// 80-bit "long double" of x87 and rounds each prefix to a double. [Extended] implements that format
// in integer arithmetic, so that arm64, riscv64 and amd64 all reproduce the answer. [CumSum] and
// [CumSumSquares] are R's cumsum(x) and cumsum(x^2).
//
// [Log] is a natural logarithm that depends neither on the processor nor on the system's libm. It
// is correctly rounded except for about one argument in 100,000.
//
// On some processors Go may fuse x*y+z into one rounding. This package and the packages that use it
// write float64(x*y)+z, which prevents fusing, and math.FMA where a single rounding is intended.
// Start reading at [Log].
package arith

import (
	"math"
	"slices"
)

// Position returns the position of the pc-th percentile (0 to 100) among n sorted values: between
// indexes lo and hi = lo or lo+1, with their weights. The arithmetic is that of warmup_stats: the
// position is (n-1)*(pc/100), and an integer position selects that value with weight 1.
func Position(n int, pc float64) (lo, hi int, wlo, whi float64) {
	at := float64(float64(n-1) * (pc / 100))
	floor, ceil := math.Floor(at), math.Ceil(at)
	if floor == ceil {
		return int(at), int(at), 1, 0
	}
	return int(floor), int(ceil), ceil - at, at - floor
}

// Percentile returns the pc-th percentile (0 to 100) of sorted values, linearly interpolated as in
// the study's tools (warmup_stats, numpy's default, R's type 7); NaN when there are none.
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

// Median returns the median of sorted values; NaN when there are none.
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

// MedianOf returns the median of values in any order, without changing them; NaN when there are
// none.
func MedianOf(values []float64) float64 { return Median(slices.Sorted(slices.Values(values))) }

// Spread is a median with the 5th and 95th percentiles, which the study reports (and calls an
// inter-quartile range).
type Spread struct {
	Median float64 `json:"median"`
	P5     float64 `json:"p5"`
	P95    float64 `json:"p95"`
}

// SpreadOf summarizes values in any order, without changing them. All three are NaN when there are
// none.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Median: Median(sorted), P5: Percentile(sorted, 5), P95: Percentile(sorted, 95)}
}

// MeanOf is the sum of the differences from the first value over their number, added to it, so that
// equal values have exactly their own mean. It is the fast one; [Mean] is R's.
func MeanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v - values[0]
	}
	return values[0] + sum/float64(len(values))
}

// One is 1 if b, else 0.
func One(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Sort sorts values, which must not be NaN. It takes a fourth of the time of slices.Sort.
func Sort(values []float64) {
	sorted := make([]float64, len(values))
	for r, i := range Ascending(values) {
		sorted[r] = values[i]
	}
	copy(values, sorted)
}

// Ascending returns the indexes of values, which must not be NaN, in ascending order of the values,
// those of equal ones in ascending order; -0 is below 0. It is a radix sort by the bytes of the
// doubles, least significant first: it has no comparison that a processor could mispredict.
func Ascending(values []float64) []int32 {
	keys := make([]uint64, len(values))
	from, to := make([]int32, len(values)), make([]int32, len(values))
	var counts [8][256]int32
	for i, v := range values {
		b := math.Float64bits(v)
		key := b ^ (uint64(int64(b)>>63) | 1<<63) // ordered as integers
		keys[i], from[i] = key, int32(i)
		for digit := range counts {
			counts[digit][uint8(key>>(8*digit))]++
		}
	}
	for digit := range counts {
		starts, shift := &counts[digit], 8*digit
		if len(keys) == 0 || int(starts[uint8(keys[0]>>shift)]) == len(keys) {
			continue // all have the same byte
		}
		sum := int32(0)
		for d, count := range starts {
			starts[d] = sum
			sum += count
		}
		for _, i := range from {
			d := uint8(keys[i] >> shift)
			to[starts[d]] = i
			starts[d]++
		}
		from, to = to, from
	}
	return from
}
