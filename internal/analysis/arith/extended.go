package arith

import (
	"math"
	"math/bits"
)

// Extended is a finite number of the x87 extended format: a sign, 64 bits of significand, a wide
// exponent. The zero value is 0. Every operation rounds to nearest, ties to even, as the x87 unit
// does by default. The exponent is not bounded here: sums and products of doubles cannot leave
// x87's range.
type Extended struct {
	mant uint64 // top bit set, or 0 for the number 0
	exp  int    // the value is mant * 2^exp
	neg  bool
}

const (
	fractionBits = 52
	exponentMask = 0x7ff
	exponentBias = 1023
	topBit       = uint64(1) << 63
)

// FromFloat64 converts x, which must be finite, without loss.
func FromFloat64(x float64) Extended {
	b := math.Float64bits(x)
	frac := b & (1<<fractionBits - 1)
	exp := int(b >> fractionBits & exponentMask)
	if exp == 0 {
		if frac == 0 {
			return Extended{}
		}
		exp = 1
	} else {
		frac |= 1 << fractionBits
	}
	shift := bits.LeadingZeros64(frac)
	return Extended{mant: frac << shift, exp: exp - exponentBias - fractionBits - shift, neg: b>>63 != 0}
}

// fromInt returns n * 2^exp.
func fromInt(n int64, exp int) Extended {
	if n == 0 {
		return Extended{}
	}
	mant := uint64(max(n, -n))
	shift := bits.LeadingZeros64(mant)
	return Extended{mant: mant << shift, exp: exp - shift, neg: n < 0}
}

// Float64 rounds to the nearest double. Magnitudes too large for a double give an infinity,
// magnitudes too small a subnormal or zero.
func (a Extended) Float64() float64 {
	const dropped = 63 - fractionBits
	m := a.mant >> dropped
	m += up(m, a.mant<<(64-dropped)) // a carry out of the fraction raises the exponent as required
	exp := a.exp + 63 + exponentBias // biased exponent of the double
	b := min(uint64(exp-1)<<fractionBits+m, exponentMask<<fractionBits)
	if a.mant == 0 || exp < 1 {
		b = a.subnormal()
	}
	if a.neg {
		b |= topBit
	}
	return math.Float64frombits(b)
}

// subnormal returns the bits of a below the smallest normal double, where the spacing is constant,
// without the sign.
func (a Extended) subnormal() uint64 {
	const unit = 1 - exponentBias - fractionBits // exponent of the last bit
	shift := unit - a.exp
	hi, lo := shiftRight(a.mant, uint(shift))
	return hi + up(hi, lo)
}

// Neg returns -a.
func (a Extended) Neg() Extended {
	a.neg = !a.neg
	return a
}

// Sub returns a - b, rounded once.
func (a Extended) Sub(b Extended) Extended { return a.Add(b.Neg()) }

// Add returns a + b, rounded once.
func (a Extended) Add(b Extended) Extended {
	if b.mant == 0 {
		return a
	}
	if a.mant == 0 {
		return b
	}
	if a.exp < b.exp || a.exp == b.exp && a.mant < b.mant {
		a, b = b, a
	}
	hi, lo := shiftRight(b.mant, uint(a.exp-b.exp))
	if a.neg == b.neg {
		return a.addMagnitude(hi, lo)
	}
	return a.subMagnitude(hi, lo)
}

// addMagnitude adds hi.lo units of a's last place to |a|.
func (a Extended) addMagnitude(hi, lo uint64) Extended {
	sum, carry := bits.Add64(a.mant, hi, 0)
	if carry != 0 {
		lo = sum<<63 | lo>>1 | lo&1
		sum = sum>>1 | topBit
		a.exp++
	}
	return a.rounded(sum, lo)
}

// subMagnitude subtracts hi.lo units of a's last place from |a|, which is not smaller.
func (a Extended) subMagnitude(hi, lo uint64) Extended {
	lo, borrow := bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(a.mant, hi, borrow)
	if hi == 0 {
		if lo == 0 {
			return Extended{}
		}
		hi, lo = lo, 0
		a.exp -= 64
	}
	shift := uint(bits.LeadingZeros64(hi))
	hi = hi<<shift | lo>>(64-shift)
	lo <<= shift
	a.exp -= int(shift)
	return a.rounded(hi, lo)
}

// Mul returns a * b, rounded once.
func (a Extended) Mul(b Extended) Extended {
	if a.mant == 0 || b.mant == 0 {
		return Extended{}
	}
	hi, lo := bits.Mul64(a.mant, b.mant)
	shift := hi>>63 ^ 1 // half of the products need it: no branch
	hi = hi<<shift | lo>>63&shift
	return Extended{exp: a.exp + b.exp + 64 - int(shift), neg: a.neg != b.neg}.rounded(hi, lo<<shift)
}

// DivInt returns a / n for n > 0, rounded once.
func (a Extended) DivInt(n int) Extended {
	if a.mant == 0 {
		return Extended{}
	}
	d := uint64(n)
	whole, rem := a.mant/d, a.mant%d
	frac, rem := bits.Div64(rem, 0, d)
	shift := uint(bits.LeadingZeros64(whole))
	if whole == 0 {
		shift = 64 + uint(bits.LeadingZeros64(frac))
	}
	// Bring down as many more bits as normalizing the quotient needs.
	more, rem := bits.Div64(rem, 0, d)
	hi, lo := shiftLeft3(whole, frac, more, shift)
	if rem != 0 {
		lo |= 1
	}
	return Extended{exp: a.exp - int(shift), neg: a.neg}.rounded(hi, lo)
}

// rounded returns a with the significand mant. rest holds the bits after mant; its lowest bit is
// sticky: it is set if any bit further down is.
func (a Extended) rounded(mant, rest uint64) Extended {
	a.mant = mant + up(mant, rest)
	if a.mant == 0 {
		a.mant = topBit
		a.exp++
	}
	return a
}

// up is 1 if kept, followed by the fraction rest/2^64, rounds up to the next integer, ties to even,
// else 0. It has no branch.
func up(kept, rest uint64) uint64 {
	below := rest << 1
	return rest >> 63 & (kept | (below|-below)>>63)
}

// shiftRight moves mant right by n into lo. Bits shifted out of lo set its lowest bit.
func shiftRight(mant uint64, n uint) (hi, lo uint64) {
	switch {
	case n == 0:
		return mant, 0
	case n < 64:
		return mant >> n, mant << (64 - n)
	case n == 64:
		return 0, mant
	case n < 128:
		lo = mant >> (n - 64)
		if mant<<(128-n) != 0 {
			lo |= 1
		}
		return 0, lo
	}
	return 0, 1
}

// shiftLeft3 returns the top 128 bits of the 192-bit number a.b.c shifted left by n < 128. The
// lowest bit is sticky for the bits cut off.
func shiftLeft3(a, b, c uint64, n uint) (hi, lo uint64) {
	if n >= 64 {
		a, b, c = b, c, 0
		n -= 64
	}
	hi = a<<n | b>>(64-n)
	lo = b<<n | c>>(64-n)
	if c<<n != 0 {
		lo |= 1
	}
	return hi, lo
}
