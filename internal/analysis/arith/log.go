package arith

import (
	"math"
	"math/big"
)

// logEntry is a row of logTable.
type logEntry struct {
	inv    float64 // 1/c for some c in the row's interval
	hi, lo float64 // log c = hi + lo
}

const (
	tableStart = 0x3fe6000000000000 // bits of 0.6875, where logTable begins
	tableShift = fractionBits - 7   // its 128 rows share an octave
	smallest   = 0x1p-1022          // the smallest normal double
)

// reduce writes x = 2^k * z, z in [0.6875, 1.375), and finds z's row.
func reduce(x float64) (k float64, z float64, row *logEntry) {
	b := math.Float64bits(x)
	off := b - tableStart
	z = math.Float64frombits(b - off&(0xfff<<fractionBits))
	return float64(int64(off) >> fractionBits), z, &logTable[off>>tableShift&127]
}

// Log returns the natural logarithm of x, identical on every processor. It is the double nearest to
// the true value except for about one x in 100,000 (the error is below 0.50001 units in the last
// place). Log(0) is -Inf; the logarithm of a negative number or NaN is NaN.
func Log(x float64) float64 {
	if !(x >= smallest && x <= math.MaxFloat64) {
		return logSpecial(x)
	}
	k, z, row := reduce(x)
	// 1+r = z/c, r and rl exactly: the product in two parts, less 1.
	p := float64(z * row.inv)
	rh := p - 1
	rl := math.FMA(z, row.inv, -p)
	r := rh + rl
	rl -= r - rh
	// log(1+r) = r - r*r/2 + tail, the square in two parts as well.
	sq := float64(r * r)
	sqLo := math.FMA(r, r, -sq)
	var tail float64
	if k == 0 && row.hi == 0 {
		tail = float64(float64(sq*r) * longTail(r))
	} else {
		tail = float64(float64(sq*r) * shortTail(r, sq))
	}
	s, e1 := fastTwoSum(float64(k*ln2Hi), row.hi)
	s, e2 := fastTwoSum(s, r)
	s, e3 := fastTwoSum(s, -0.5*sq)
	small := float64(k*ln2Lo) + row.lo + (rl - 0.5*sqLo - float64(r*rl)) + tail
	return s + (e1 + e2 + e3 + small)
}

// longTail is (log(1+r) - r + r*r/2) / r^3 for |r| <= 2^-7 to 2^-56, for arguments near 1, whose
// logarithm is close to r.
func longTail(r float64) float64 {
	t := -0.1 + float64(r*(1.0/11))
	t = 1.0/9 + float64(r*t)
	t = -0.125 + float64(r*t)
	t = 1.0/7 + float64(r*t)
	t = -1.0/6 + float64(r*t)
	t = 0.2 + float64(r*t)
	t = -0.25 + float64(r*t)
	return 1.0/3 + float64(r*t)
}

// shortTail is the same for |r| <= 2^-8 to 2^-42, for logarithms of at least 2^-8; r2 is r*r.
func shortTail(r, r2 float64) float64 {
	even := 1.0/3 + float64(r2*(0.2+float64(r2*(1.0/7))))
	odd := -0.25 - float64(r2*(1.0/6))
	return even + float64(r*odd)
}

// fastTwoSum returns a + b as the rounded sum and the rounding error, when a is 0 or not smaller
// than b (Dekker).
func fastTwoSum(a, b float64) (sum, lost float64) {
	sum = a + b
	return sum, b - (sum - a)
}

// logSpecial implements Log outside the positive normal numbers.
func logSpecial(x float64) float64 {
	switch {
	case x > 0 && x < smallest:
		return logSubnormal(x)
	case x == 0:
		return math.Inf(-1)
	case x > 0:
		return x // +Inf
	}
	return math.NaN()
}

// logSubnormal implements Log below the normal numbers: log(x*2^52) - 52 log 2. The logarithm is
// near -720, where a relative error of 2^-52 covers the second rounding.
func logSubnormal(x float64) float64 {
	k, z, row := reduce(x * 0x1p52)
	r := math.FMA(z, row.inv, -1)
	k -= 52
	return float64(k*ln2Hi) + (row.hi + (r - 0.5*float64(r*r) + float64(float64(r*r*r)*longTail(r))) +
		float64(k*ln2Lo))
}

// RoughError bounds the absolute error of LogRough.
const RoughError = 0x1p-35

// LogRough returns the natural logarithm of a positive normal x within RoughError. It is cheap and
// meant for bounds, not for results.
func LogRough(x float64) float64 {
	k, z, row := reduce(x)
	r := float64(z*row.inv) - 1
	t := 1.0/3 - float64(0.25*r)
	t = float64(r*t) - 0.5
	t = r + float64(float64(r*r)*t)
	return float64(k*math.Ln2) + (row.hi + t)
}

// Exp returns e to the power of x as the double nearest to the true value, identical on every
// processor, for |x| <= 700. It computes with 128 bits and takes tens of microseconds. It is meant
// for the few numbers from which an index is computed, where the last bit can decide.
func Exp(x float64) float64 {
	const (
		precision = 128
		halvings  = 12 // |x| / 2^12 is below 0.18, and its 19th power over 19! below 2^-100
		terms     = 18
	)
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
	small := number(math.Ldexp(x, -halvings))
	sum, term := number(1), number(1)
	for i := 1; i <= terms; i++ {
		term.Mul(term, small)
		term.Quo(term, number(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	nearest, _ := sum.Float64()
	return nearest
}
