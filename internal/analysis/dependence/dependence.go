// Package dependence measures whether the iterations of a segment depend on the one before.
//
// Changepoint analysis and the bootstrap take the values of a segment for independent. Where they
// are not, intervals are off: too narrow for positive correlation, too wide for negative. The study
// (section 7) found dependence in a segment of 11.8% of its process executions, from -0.968 to
// 0.668.
package dependence

import (
	"math"
	"slices"
)

// Result is the correlation of a segment's values with their predecessors.
type Result struct {
	// Lag1 is sum (x[i]-m)(x[i+1]-m) / sum (x[i]-m)^2, m the mean (R: acf(x)$acf[2]), between -1
	// and 1. NaN for fewer than three values and for constant ones.
	Lag1 float64
	// Dependent says that Lag1 is further from 0 than 2.576/sqrt(n), where 1% of independent
	// segments lie.
	Dependent bool
}

// quantile995 is the 99.5% quantile of the normal distribution.
const quantile995 = 2.5758293035489

// shortest is the fewest values for which the bound on Lag1 holds well enough to call a segment
// dependent.
const shortest = 30

// Of measures one segment.
func Of(x []float64) Result {
	r := Result{Lag1: math.NaN()}
	if len(x) < 3 || slices.Min(x) == slices.Max(x) {
		return r
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
		return r
	}
	r.Lag1 = product / square
	r.Dependent = len(x) >= shortest && math.Abs(r.Lag1) > quantile995/math.Sqrt(float64(len(x)))
	return r
}
