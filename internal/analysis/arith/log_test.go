package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"krund/rig/must"
)

// exactLog is ln x to about 150 bits: the exponent times ln 2, and 2 artanh((z-1)/(z+1)) for the
// rest.
func exactLog(x float64) *big.Float {
	const prec = 160
	frac, exp := math.Frexp(x)
	sum := artanhLog(frac, prec)
	ln2 := artanhLog(2, prec)
	return sum.Add(sum, ln2.Mul(ln2, big.NewFloat(float64(exp))))
}

func artanhLog(z float64, prec uint) *big.Float {
	f := func(v float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(v) }
	y := f(0).Quo(f(0).Sub(f(z), f(1)), f(0).Add(f(z), f(1)))
	y2 := f(0).Mul(y, y)
	sum := f(0)
	for n := 1.0; n < 220 && y.Sign() != 0; n += 2 {
		sum.Add(sum, f(0).Quo(y, f(n)))
		y.Mul(y, y2)
	}
	return sum.Mul(sum, f(2))
}

// logArguments are the kinds of numbers variances are: of every magnitude, next to 1, powers of
// two, the ends of the table's rows.
func logArguments(r *rand.Rand, n int) []float64 {
	xs := []float64{1, 2, 0.5, 1e-11, math.SmallestNonzeroFloat64, math.MaxFloat64, smallest, 0x1p-1040,
		math.Nextafter(1, 0), math.Nextafter(1, 2)}
	for range n {
		xs = append(xs, math.Float64frombits(r.Uint64()&^topBit)/2, math.Ldexp(1+r.Float64(), r.IntN(60)-50),
			1+math.Ldexp(r.Float64()-0.5, -r.IntN(50)),
			math.Float64frombits(tableStart+uint64(r.IntN(128))<<tableShift))
	}
	return xs
}

func TestLogIsTheNearestDouble(t *testing.T) {
	off, n := 0, 0
	for _, x := range logArguments(rand.New(rand.NewPCG(1, 1)), 1000) {
		if !(x > 0 && x <= math.MaxFloat64) {
			continue
		}
		exact := exactLog(x)
		want, _ := exact.Float64()
		got := Log(x)
		n++
		if got != want {
			off++
		}
		ulp := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
		diff, _ := exact.Sub(exact, big.NewFloat(got)).Float64()
		limit := 0.5001
		if x < smallest {
			limit = 0.75
		}
		must.Be(t, math.Abs(diff) <= limit*ulp, "Log", x, got, diff/ulp, "units from the true value")
	}
	must.Be(t, off <= n/1000, off, n, "logarithms are not the nearest double")
	t.Logf("%d logarithms compared, %d not the nearest double", n, off)
}

func TestLogOutsideItsDomain(t *testing.T) {
	for _, c := range []struct{ in, want float64 }{
		{0, math.Inf(-1)}, {math.Copysign(0, -1), math.Inf(-1)}, {math.Inf(1), math.Inf(1)}, {1, 0},
	} {
		must.Equal(t, Log(c.in), c.want, "Log", c.in)
	}
	for _, x := range []float64{-1, math.Inf(-1), math.NaN()} {
		got := Log(x)
		must.Be(t, math.IsNaN(got), "Log", x, got, "want NaN")
	}
}

func TestLogRoughKeepsItsBound(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, x := range logArguments(r, 200000) {
		if x < smallest || !(x <= math.MaxFloat64) {
			continue
		}
		d := math.Abs(LogRough(x) - Log(x))
		must.Need(t, d <= RoughError, "LogRough", x, d, "off")
	}
}

func TestExp(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{0, 1},
		{1, math.E},
		{-1, 0x1.78b56362cef38p-2}, // 0.36787944117144232159552377016146...
		{math.Ln2, 2},              // the double is below log 2 by 2e-17
		{700, 0x1.d945df4f8ec8ep+1009},
	} {
		must.Equal(t, Exp(c.x), c.want, "Exp", c.x)
	}
}

// TestExpInvertsLog: a logarithm rounded to a double moves the power by at most |log x| units of
// 2^-53, half a unit of the logarithm's last place.
func TestExpInvertsLog(t *testing.T) {
	for x := 1e-300; x < 1e300; x *= 7.3 {
		l := Log(x)
		got := Exp(l)
		must.Be(t, math.Abs(got/x-1) <= (math.Abs(l)+2)*0x1p-53, "Exp(Log", x, got)
		if got, std := Exp(l), math.Exp(l); math.Abs(got/std-1) > 0x1p-51 {
			t.Errorf("Exp(%v) = %v, math.Exp %v", l, got, std)
		}
	}
}
