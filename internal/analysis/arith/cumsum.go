package arith

import "math"

// CumSum returns the n+1 prefix sums 0, x[0], x[0]+x[1], ... of n finite values, like R's c(0,
// cumsum(x)). The running sum is Extended and each prefix is rounded to a double. A prefix that
// overflows a double is an infinity.
func CumSum(x []float64) []float64 {
	sums := make([]float64, len(x)+1)
	add(x, sums[1:])
	return sums
}

// CumSumSquares is CumSum of the squares, each square rounded to a double first (R: c(0,
// cumsum(x^2))). The squares must be finite.
func CumSumSquares(x []float64) []float64 {
	sums := make([]float64, len(x)+1)
	for i, v := range x {
		sums[i+1] = v * v
	}
	add(sums[1:], sums[1:])
	return sums
}

// Sum adds finite values in Extended and rounds once.
func Sum(x []float64) float64 { return add(x, nil).Float64() }

// add returns the sum of x in Extended, and stores each prefix as a double in prefixes, which may
// be x, if it is not nil.
//
// What the loop does itself is Extended.Add of a positive number to a sum that is not smaller, and
// Float64 of the result: nearly all there is to do for times. Only then is shift below 64.
func add(x, prefixes []float64) Extended {
	const wide, unusable = 900, -1 << 20
	var sum Extended
	exp, scale := unusable, 0.0 // of the sum
	for i, v := range x {
		b := math.Float64bits(v)
		shift := uint(exp - int(b>>fractionBits) + exponentBias + 63)
		mant := b<<(63-fractionBits) | topBit
		if total, ok := plus(sum.mant, mant, shift); ok {
			sum.mant = total
			if prefixes != nil {
				prefixes[i] = float64(int64(total>>1|total&1)) * scale
			}
			continue
		}
		sum = sum.Add(FromFloat64(v))
		if prefixes != nil {
			prefixes[i] = sum.Float64()
		}
		exp = unusable
		if sum.mant != 0 && !sum.neg && -wide < sum.exp && sum.exp < wide {
			exp, scale = sum.exp, math.Ldexp(2, sum.exp)
		}
	}
	return sum
}

// plus returns a + b/2^shift, rounded to an integer, ties to even, if shift is below 64 and the
// result below 2^64. It is small enough to be inlined.
func plus(a, b uint64, shift uint) (sum uint64, ok bool) {
	sum = a + b>>(shift&63)
	sum += up(sum, b<<1<<(^shift&63))
	return sum, shift < 64 && sum >= a
}

// Mean is R's mean(x) for at least one finite value: the sum over n, plus the mean of the
// residuals, all in Extended.
func Mean(x []float64) float64 {
	first := add(x, nil).DivInt(len(x))
	mean := func(rest Extended) float64 { return first.Add(rest.DivInt(len(x))).Float64() }
	if rest, most, ok := residuals(x, first); ok && mean(rest) == mean(most) {
		return mean(rest)
	}
	var rest Extended
	for _, v := range x {
		rest = rest.Add(FromFloat64(v).Sub(first))
	}
	return mean(rest)
}

// residuals returns bounds on the sum of x[i] - mean that Extended would give, if it can. They are
// so close that Mean nearly always needs to know no more, and integers find them, without the
// branches that Extended has for signs and sizes: in units of 2^10 times the mean's last place
// every value within half of the mean is a whole number, and its difference from the mean, rounded
// to a double, is exact (Sterbenz). Of n sums none is rounded by more than 2^-64 of the largest.
func residuals(x []float64, mean Extended) (least, most Extended, ok bool) {
	exp := mean.exp + 10
	near, scale := mean.Float64(), math.Ldexp(1, -exp)
	half := math.Abs(near) * scale / 2
	var sum, largest int64
	for _, v := range x {
		units := (v - near) * scale
		if !(math.Abs(units) < half) {
			return least, most, false
		}
		sum += int64(units)
		largest = max(largest, sum, -sum)
	}
	rounded := mean.Sub(FromFloat64(near)).Float64() * scale
	sum -= int64(rounded * float64(len(x)))
	slack := int64(float64(len(x))*float64(largest)*0x1p-64) + 3
	return fromInt(sum-slack, exp), fromInt(sum+slack, exp), largest < 1<<62
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
		d := FromFloat64(v - mean) // exact if the difference is small (Sterbenz)
		if !(math.Abs(v-mean) < math.Abs(mean)/2) {
			d = FromFloat64(v).Sub(m)
		}
		square := d.Mul(d)
		if total, ok := plus(sum.mant, square.mant, uint(sum.exp-square.exp)); ok && sum.mant != 0 {
			sum.mant = total
		} else {
			sum = sum.Add(square)
		}
	}
	return mean, sum.DivInt(len(x) - 1).Float64()
}
