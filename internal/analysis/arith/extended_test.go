package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// reference is the same number as a math/big float of 64 bits of precision, whose operations round
// to nearest even as the x87 unit does.
func reference(a Extended) *big.Float {
	f := new(big.Float).SetPrec(64).SetUint64(a.mant)
	f.SetMantExp(f, a.exp)
	if a.neg {
		f.Neg(f)
	}
	return f
}

func same(a Extended, f *big.Float) bool { return reference(a).Cmp(f) == 0 }

// number draws doubles of all magnitudes, often close to each other, with zeros, subnormals and
// powers of two among them.
func number(r *rand.Rand) float64 {
	switch r.IntN(8) {
	case 0:
		return math.Float64frombits(r.Uint64() &^ (1 << 62)) // below 2, and subnormals
	case 1:
		return math.Ldexp(1, r.IntN(200)-100)
	case 2:
		return -math.Ldexp(1+r.Float64(), r.IntN(8))
	case 3:
		return 0
	case 4:
		return 5e-324 * float64(r.IntN(1000))
	}
	return math.Ldexp(1+r.Float64(), r.IntN(140)-70)
}

func random(r *rand.Rand) Extended {
	a := FromFloat64(number(r))
	for range r.IntN(4) {
		a = a.Add(FromFloat64(number(r)))
	}
	return a
}

func TestExtendedAgreesWithBigFloat(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60000 {
		a, b := random(r), random(r)
		fa, fb := reference(a), reference(b)
		z := func() *big.Float { return new(big.Float).SetPrec(64) }
		if got := a.Add(b); !same(got, z().Add(fa, fb)) {
			t.Fatalf("case %d: %v + %v = %v", i, fa, fb, reference(got))
		}
		if got := a.Sub(b); !same(got, z().Sub(fa, fb)) {
			t.Fatalf("case %d: %v - %v = %v", i, fa, fb, reference(got))
		}
		if got := a.Mul(b); !same(got, z().Mul(fa, fb)) {
			t.Fatalf("case %d: %v * %v = %v", i, fa, fb, reference(got))
		}
		n := 1 + r.IntN(1<<r.IntN(24))
		if got := a.DivInt(n); !same(got, z().Quo(fa, z().SetInt64(int64(n)))) {
			t.Fatalf("case %d: %v / %d = %v", i, fa, n, reference(got))
		}
		want, _ := fa.Float64()
		got := a.Float64()
		must.Need(t, got == want, "case", i, fa, "rounds to", got, "want", want)
	}
}

func TestFloat64Edges(t *testing.T) {
	half := FromFloat64(math.Ldexp(1, -1074)).Mul(FromFloat64(0.5))
	max := FromFloat64(math.MaxFloat64)
	ulp := FromFloat64(math.Ldexp(1, 970))
	for _, c := range []struct {
		name string
		in   Extended
		want float64
	}{
		{"zero", Extended{}, 0},
		{"half of the smallest subnormal ties to zero", half, 0},
		{"a little more goes up", half.Add(half.Mul(FromFloat64(0.5))), math.Ldexp(1, -1074)},
		{"the largest double", max, math.MaxFloat64},
		{"half a unit above it", max.Add(ulp), math.Inf(1)},
		{"less than half a unit above it", max.Add(ulp.Mul(FromFloat64(0.99))), math.MaxFloat64},
		{"far below the doubles", half.Mul(half), 0},
		{"a subnormal that rounds to a normal", FromFloat64(math.Ldexp(1,
			-1022)).Sub(half.Mul(FromFloat64(0.5))), math.Ldexp(1, -1022)},
		{"negative", max.Add(ulp).Neg(), math.Inf(-1)},
	} {
		must.Equal(t, c.in.Float64(), c.want, c.name)
	}
}

func TestFloat64RoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		x := math.Float64frombits(r.Uint64())
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		got := FromFloat64(x).Float64()
		must.Need(t, got == x, x, "came back as", got)
	}
}
