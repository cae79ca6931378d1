package optimize

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// pairwiseBlock and lanes are numpy's parameters of pairwise summation: sums of up to a block use
// eight accumulators, longer ones are halved.
const (
	pairwiseBlock = 128
	lanes         = 8
)

// sum adds x as numpy does. Candidates of equal duration are ranked by their metric, so its last
// bits matter.
func sum(x []float64) float64 {
	n := len(x)
	if n > pairwiseBlock {
		half := n / 2
		half -= half % lanes
		return sum(x[:half]) + sum(x[half:])
	}
	if n < lanes {
		total := 0.0
		for _, v := range x {
			total += v
		}
		return total
	}
	var r [lanes]float64
	i := 0
	for ; i+lanes <= n; i += lanes {
		for k := range r {
			r[k] += x[i+k]
		}
	}
	total := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for ; i < n; i++ {
		total += x[i]
	}
	return total
}

// mean is the arithmetic mean; NaN for no values.
func mean(x []float64) float64 { return sum(x) / float64(len(x)) }

// squares returns the sum of squared deviations from m.
func squares(x []float64, m float64) float64 {
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = float64((v - m) * (v - m))
	}
	return sum(d)
}

// cv is the coefficient of variation around the mean m. The variance is multiplied by 1/n, as in
// numpy's cov.
func cv(x []float64, m float64) float64 {
	return math.Sqrt(squares(x, m)*(1/float64(len(x)))) / m
}

// rmad is the relative median absolute deviation from the median d.
func rmad(x []float64, d float64) float64 {
	away := make([]float64, len(x))
	for i, v := range x {
		away[i] = math.Abs(v - d)
	}
	slices.Sort(away)
	return arith.Median(away) / d
}

// nth partially sorts the values so that index k holds the k-th smallest (from 0), with nothing
// larger before and nothing smaller after it (Hoare's selection). NaN is not allowed.
func nth(x []float64, k int) float64 {
	for low, high := 0, len(x)-1; low < high; {
		pivot := x[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		if k <= j {
			high = j
			continue
		}
		if k < i {
			break
		}
		low = i
	}
	return x[k]
}

// percentile returns the pc-th percentile (0 to 100, type 7) of values and reorders them.
func percentile(x []float64, pc float64) float64 {
	lo, hi, wlo, whi := arith.Position(len(x), pc)
	a := nth(x, lo)
	if lo == hi {
		return a
	}
	b := slices.Min(x[hi:]) // values after lo are not smaller
	if a == b {
		return a
	}
	return float64(a*wlo) + float64(b*whi)
}
