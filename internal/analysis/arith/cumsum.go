package arith

import (
	"math"
	"math/big"
	"math/bits"
)

// CumSum returns the n+1 prefix sums 0, x[0], x[0]+x[1], ... of n finite values, like R's c(0,
// cumsum(x)). The running sum is in x87's extended format and each prefix is rounded to a double. A
// prefix that overflows a double is an infinity.
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

// Sum adds finite values in the extended format and rounds once.
func Sum(x []float64) float64 { return double(add(x, nil)) }

const (
	fractionBits = 52
	exponentBias = 1023
	topBit       = uint64(1) << 63
	unusable     = -1 << 20 // an exponent that is that of no sum
)

// long returns v in x87's extended format: 64 bits of significand. Every operation of big.Float
// rounds to nearest, ties to even, as the x87 unit does by default. Its exponent is wider, which
// makes no difference: sums and products of doubles cannot leave x87's range. What is not finite is
// the positive infinity: big.Float has no NaN, and panics where infinities cancel.
func long(v float64) *big.Float {
	f := new(big.Float).SetPrec(64)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return f.SetInf(false)
	}
	return f.SetFloat64(v)
}

func double(v *big.Float) float64 {
	d, _ := v.Float64()
	return d
}

// significand returns a positive number as mant * 2^exp, the top bit of mant set. exp is unusable
// for other numbers, and for those so small or large that scaling could leave the doubles.
func significand(v *big.Float) (mant uint64, exp int) {
	const wide = 900
	var m big.Float
	exp = v.MantExp(&m) - 64
	if v.Sign() <= 0 || v.IsInf() || exp <= -wide || exp >= wide {
		return 0, unusable
	}
	mant, _ = m.SetMantExp(&m, 64).Uint64()
	return mant, exp
}

// scaled sets v to mant * 2^exp.
func scaled(v *big.Float, mant uint64, exp int) *big.Float {
	return v.SetMantExp(v.SetUint64(mant), exp)
}

// add returns the sum of x in the extended format, and stores each prefix as a double in prefixes,
// which may be x, if it is not nil.
//
// What the loop does itself is the addition of a positive number to a sum that is not smaller, and
// the rounding of the result: nearly all there is to do for times, and many times faster than
// big.Float. Only then is shift below 64.
func add(x, prefixes []float64) *big.Float {
	sum := long(0)
	mant, exp, scale := uint64(0), unusable, 0.0 // of the sum
	for i, v := range x {
		b := math.Float64bits(v)
		shift := uint(exp - int(b>>fractionBits) + exponentBias + 63)
		if total, ok := plus(mant, b<<(63-fractionBits)|topBit, shift); ok {
			mant = total
			if prefixes != nil {
				prefixes[i] = float64(int64(total>>1|total&1)) * scale
			}
			continue
		}
		if exp != unusable {
			scaled(sum, mant, exp)
		}
		sum.Add(sum, long(v))
		if prefixes != nil {
			prefixes[i] = double(sum)
		}
		mant, exp = significand(sum)
		scale = math.Ldexp(2, exp)
	}
	if exp != unusable {
		scaled(sum, mant, exp)
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

// up is 1 if kept, followed by the fraction rest/2^64, rounds up to the next integer, ties to even,
// else 0. It has no branch.
func up(kept, rest uint64) uint64 {
	below := rest << 1
	return rest >> 63 & (kept | (below|-below)>>63)
}

// Mean is R's mean(x) for at least one finite value: the sum over n, plus the mean of the
// residuals, all in the extended format. It is infinite if a value is not finite.
func Mean(x []float64) float64 {
	n := long(float64(len(x)))
	first := add(x, nil)
	if first.IsInf() {
		return math.Inf(1)
	}
	first.Quo(first, n)
	mean := func(rest *big.Float) float64 { return double(rest.Add(first, rest.Quo(rest, n))) }
	if rest, most, ok := residuals(x, first); ok {
		if least := mean(rest); least == mean(most) {
			return least
		}
	}
	rest := long(0)
	for _, v := range x {
		d := long(v)
		rest.Add(rest, d.Sub(d, first))
	}
	return mean(rest)
}

// residuals returns bounds on the sum of x[i] - mean that the extended format would give, if it
// can. They are so close that Mean nearly always needs to know no more, and integers find them. In
// units of 2^10 times the mean's last place every value within half of the mean is a whole number,
// and its difference from the mean, rounded to a double, is exact (Sterbenz). Of n sums none is
// rounded by more than 2^-64 of the largest.
func residuals(x []float64, mean *big.Float) (least, most *big.Float, ok bool) {
	exp := mean.MantExp(nil) - 64 + 10
	near, scale := double(mean), math.Ldexp(1, -exp)
	half := math.Abs(near) * scale / 2
	var sum, largest int64
	for _, v := range x {
		units := (v - near) * scale
		if !(math.Abs(units) < half) {
			return nil, nil, false
		}
		sum += int64(units)
		largest = max(largest, sum, -sum)
	}
	rest := long(near)
	sum -= int64(double(rest.Sub(mean, rest)) * scale * float64(len(x)))
	slack := int64(float64(len(x))*float64(largest)*0x1p-64) + 3
	units := func(n int64) *big.Float {
		v := long(0).SetInt64(n)
		return v.SetMantExp(v, exp)
	}
	return units(sum - slack), units(sum + slack), largest < 1<<62
}

// Moments returns R's mean(x) and var(x) of finite values. The variance is the sum of squared
// deviations from the mean, rounded to a double, over n-1. It is 0 for one value.
func Moments(x []float64) (mean, variance float64) {
	mean = Mean(x)
	if len(x) < 2 || math.IsInf(mean, 0) {
		return mean, 0
	}
	sum := long(0)
	mant, exp := uint64(0), unusable // of the sum
	for _, v := range x {
		b := math.Float64bits(v - mean)
		if exact := math.Abs(v-mean) < math.Abs(mean)/2; exact { // Sterbenz
			hi, lo := bits.Mul64(b<<(63-fractionBits)|topBit, b<<(63-fractionBits)|topBit)
			shift := hi>>63 ^ 1 // half of the squares need it: no branch
			hi, lo = hi<<shift|lo>>63&shift, lo<<shift
			own := 2*(int(b&^topBit>>fractionBits)-exponentBias-63) + 64 - int(shift)
			if total, ok := plus(mant, hi+up(hi, lo), uint(exp-own)); ok && b&^topBit>>fractionBits > 0 {
				mant = total
				continue
			}
		}
		if exp != unusable {
			scaled(sum, mant, exp)
		}
		d := long(v)
		d.Sub(d, long(mean))
		sum.Add(sum, d.Mul(d, d))
		mant, exp = significand(sum)
	}
	if exp != unusable {
		scaled(sum, mant, exp)
	}
	return mean, double(sum.Quo(sum, long(float64(len(x)-1))))
}
