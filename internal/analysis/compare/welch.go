package compare

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// widest bounds the interval, in logarithms, so that its ends are finite numbers.
const widest = 100

// welch returns the half width of the confidence interval of log(mean y / mean x) at the given
// level, for executions' means: Student's t with the degrees of freedom of Welch (1947). The
// variance of the logarithm of a mean is (s/m)²/n (delta method). Exchanging x and y changes
// nothing. Both need at least two values and positive means.
//
// A bootstrap over few executions cannot extend beyond the slowest and the fastest of them: the
// means of two groups of three are separated by chance in one of ten cases, whatever the level. The
// t interval accounts for this.
func welch(x, y []float64, level float64) float64 {
	vx, vy := relativeVariance(x), relativeVariance(y)
	if vx+vy == 0 {
		return 0
	}
	px, py := vx/(vx+vy), vy/(vx+vy)
	freedom := 1 / (px*px/float64(len(x)-1) + py*py/float64(len(y)-1))
	t := -distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile((1 - level) / 2)
	if half := t * math.Sqrt(vx+vy); half < widest {
		return half
	}
	return widest
}

// relativeVariance is the variance of the mean of values, relative to the squared mean.
func relativeVariance(values []float64) float64 {
	n := float64(len(values))
	mean := 0.0
	for _, v := range values {
		mean += v / n
	}
	sum := 0.0
	for _, v := range values {
		d := v/mean - 1
		sum += float64(d * d)
	}
	return sum / (n - 1) / n
}
