package arith

import (
	"math"
	"math/big"
)

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
