package warmup

// This file tests whether successive iterations of a segment are correlated.
//
// Changepoint analysis and the bootstrap assume that the values of a segment are independent. If
// they are not, intervals have the wrong width: too narrow for positive correlation, too wide for
// negative. The study (section 7) found dependence in a segment of 11.8% of its process executions,
// with coefficients from -0.968 to 0.668.

import (
	"math"
	"slices"
)

// quantile995 is the 99.5% quantile of the normal distribution.
const quantile995 = 2.5758293035489

// shortest is the minimum number of values for which the bound on Lag1 is accurate enough to call a
// segment dependent.
const shortest = 30

// dependenceOf returns the lag-1 autocorrelation of a segment, sum (x[i]-m)(x[i+1]-m) / sum
// (x[i]-m)^2, m the mean (R: acf(x)$acf[2]), between -1 and 1; NaN for fewer than three values and
// for constant ones. dependent reports whether its size exceeds 2.576/sqrt(n), the 99% bound for
// independent values.
func dependenceOf(x []float64) (lag1 float64, dependent bool) {
	if len(x) < 3 || slices.Min(x) == slices.Max(x) {
		return math.NaN(), false
	}
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	var product, square float64
	for i, v := range x {
		square += float64((v - mean) * (v - mean))
		if i > 0 {
			product += float64((v - mean) * (x[i-1] - mean))
		}
	}
	if !(square > 0) || math.IsInf(square, 0) {
		return math.NaN(), false
	}
	lag1 = product / square
	return lag1, len(x) >= shortest && math.Abs(lag1) > quantile995/math.Sqrt(float64(len(x)))
}
