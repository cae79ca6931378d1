package arith

// CumSum returns the n+1 prefix sums 0, x[0], x[0]+x[1], ... of n finite values, like R's c(0,
// cumsum(x)). The running sum is Extended and each prefix is rounded to a double. A prefix that
// overflows a double is an infinity.
func CumSum(x []float64) []float64 {
	sums := make([]float64, len(x)+1)
	var sum Extended
	for i, v := range x {
		sum = sum.Add(FromFloat64(v))
		sums[i+1] = sum.Float64()
	}
	return sums
}

// CumSumSquares is CumSum of the squares, each square rounded to a double first (R: c(0,
// cumsum(x^2))). The squares must be finite.
func CumSumSquares(x []float64) []float64 {
	sums := make([]float64, len(x)+1)
	var sum Extended
	for i, v := range x {
		sum = sum.Add(FromFloat64(float64(v * v)))
		sums[i+1] = sum.Float64()
	}
	return sums
}

// Sum adds finite values in Extended and rounds once.
func Sum(x []float64) float64 { return sumOf(x).Float64() }

func sumOf(x []float64) Extended {
	var sum Extended
	for _, v := range x {
		sum = sum.Add(FromFloat64(v))
	}
	return sum
}

// Mean is R's mean(x) for at least one finite value: the sum over n, plus the mean of the
// residuals, all in Extended.
func Mean(x []float64) float64 {
	first := sumOf(x).DivInt(len(x))
	var rest Extended
	for _, v := range x {
		rest = rest.Add(FromFloat64(v).Sub(first))
	}
	return first.Add(rest.DivInt(len(x))).Float64()
}

// Moments returns R's mean(x) and var(x) of finite values. The variance is the sum of squared
// deviations from the mean, rounded to a double, over n-1. It is 0 for one value.
func Moments(x []float64) (mean, variance float64) {
	mean = Mean(x)
	if len(x) < 2 {
		return mean, 0
	}
	m := FromFloat64(mean)
	var sum Extended
	for _, v := range x {
		d := FromFloat64(v).Sub(m)
		sum = sum.Add(d.Mul(d))
	}
	return mean, sum.DivInt(len(x) - 1).Float64()
}
