package arith

import (
	"math"
	"testing"

	"krund/rig/must"
)

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
