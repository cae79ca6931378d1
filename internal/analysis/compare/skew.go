package compare

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// skewedAtLeast raises the p-value of a key whose sides have different numbers of executions, and
// whose logarithms are skewed, to that of Wilcoxon's rank sum test, which holds whatever the
// distribution, if it is the same on both sides. A t test of 30 against 10 values whose logarithms
// are lognormal finds a change where there is none: the mean of the smaller side is skewed, too.
func (e *estimate) skewedAtLeast(x, y []float64) {
	const (
		errors = 2.6  // standard errors of the skewness of normal values, √(6/n)
		doubt  = 0.05 // a larger p-value makes no verdict
		most   = 100  // values, beyond which the means are nearly normal
	)
	if !e.ok || !e.unbalanced() || e.sides[0] == 0 || len(x)+len(y) > most || e.p() > doubt {
		return
	}
	var residuals []float64
	for _, side := range [][]float64{x, y} {
		m := arith.MeanOf(side)
		for _, v := range side {
			residuals = append(residuals, v-m)
		}
	}
	square, cube := 0.0, 0.0
	for _, v := range residuals {
		square, cube = square+v*v, cube+v*v*v
	}
	n := float64(len(residuals))
	if math.Abs(cube/n)/math.Pow(square/n, 1.5) > errors*math.Sqrt(6/n) {
		e.atLeast(rankSumP(x, y))
	}
}

// rankSumP is the exact two-sided p-value of Wilcoxon's rank sum test, given the ties: the numbers
// of choices of as many of all values as the smaller side has, by the sum of their ranks.
func rankSumP(x, y []float64) float64 {
	if len(x) > len(y) {
		x, y = y, x
	}
	all := slices.Sorted(slices.Values(slices.Concat(x, y)))
	twice := func(v float64) int { // the mean of the ranks of equal values, doubled
		first, _ := slices.BinarySearch(all, v)
		after, _ := slices.BinarySearch(all, math.Nextafter(v, math.Inf(1)))
		return first + after + 1
	}
	sum := 0
	for _, v := range x {
		sum += twice(v)
	}
	most := 2 * len(all) * len(x)
	ways := make([][]float64, len(x)+1) // by the number of values chosen and their sum
	for i := range ways {
		ways[i] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, v := range all {
		rank := twice(v)
		for k := len(x); k > 0; k-- {
			for s := rank; s <= most; s++ {
				ways[k][s] += ways[k-1][s-rank]
			}
		}
	}
	low, high, total := 0.0, 0.0, 0.0
	for s, n := range ways[len(x)] {
		total += n
		if s <= sum {
			low += n
		}
		if s >= sum {
			high += n
		}
	}
	return min(1, 2*min(low, high)/total)
}
