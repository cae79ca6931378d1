package changepoint

import (
	"math"
	"slices"
)

// Knee finds the penalty beyond which a larger penalty no longer reduces the number of changepoints
// much: the elbow of a convex decreasing curve by the Kneedle method (Satopää et al. 2011), as the
// Python package kneed 0.7.0 computes it with sensitivity 1 for points in descending order of
// penalty. ok is false when there is none.
//
// Given that order, kneed begins at the far end of the curve. A knee at the largest penalty ends
// its search without a result, and so does reaching the smallest one.
func Knee(points []PenaltyPoint) (penalty float64, ok bool) {
	n := len(points)
	if n < 2 {
		return 0, false
	}
	x, y := make([]float64, n), make([]float64, n)
	for i, p := range points {
		x[n-1-i], y[n-1-i] = p.Penalty, float64(p.Changepoints)
	}
	xs := unitInterval(x)
	d := unitInterval(y)
	top := slices.Max(d)
	for i := range d {
		d[i] = top - d[i] - xs[i]
	}
	at, ok := firstKnee(xs, d)
	if !ok {
		return 0, false
	}
	return x[at], true
}

// firstKnee returns the first local maximum of the difference curve d over xs after which d falls
// by more than the mean step of xs; after a local minimum it has to fall below 0.
func firstKnee(xs, d []float64) (at int, ok bool) {
	n := len(d)
	step := 0.0
	for i := 1; i < n; i++ {
		step += xs[i] - xs[i-1]
	}
	step = math.Abs(step / float64(n-1))
	threshold, found := 0.0, false
	for i := range d {
		isMax := d[i] >= d[max(i-1, 0)] && d[i] >= d[min(i+1, n-1)]
		if !found && !isMax {
			continue
		}
		if xs[i] == 1 || i+1 == n {
			return 0, false
		}
		if isMax {
			threshold, at, found = d[i]-step, i, true
		}
		if d[i] <= d[max(i-1, 0)] && d[i] <= d[min(i+1, n-1)] {
			threshold = 0
		}
		if d[i+1] < threshold {
			return at, true
		}
	}
	return 0, false
}

// unitInterval scales values to reach from 0 to 1.
func unitInterval(values []float64) []float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = (v - low) / (high - low)
	}
	return scaled
}
