package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestCumSumIsALongDoubleSum adds with 64 bits of precision and rounds each prefix, which is what
// R's cumsum does on x87.
func TestCumSumIsALongDoubleSum(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		x := make([]float64, 200)
		for i := range x {
			x[i] = 0.1 + r.Float64()*math.Ldexp(1, r.IntN(40)-30)
		}
		sums, squares := CumSum(x), CumSumSquares(x)
		sum := new(big.Float).SetPrec(64)
		square := new(big.Float).SetPrec(64)
		for i, v := range x {
			sum.Add(sum, new(big.Float).SetFloat64(v))
			square.Add(square, new(big.Float).SetFloat64(v*v))
			wantSum, _ := sum.Float64()
			wantSquare, _ := square.Float64()
			if sums[i+1] != wantSum || squares[i+1] != wantSquare {
				t.Fatalf("prefix %d: %v and %v, want %v and %v", i+1, sums[i+1], squares[i+1], wantSum,
					wantSquare)
			}
		}
	}
}

// TestMomentsAsInR has the output of R 4.2.2 on x86-64:
//
//	x <- c(0.1, 0.2, 0.30000000000000004, 1e-3, 7)
//	sprintf("%.17g", c(mean(x), var(x), mean(1e3 + x/1e9), var(1e3 + x/1e9)))
func TestMomentsAsInR(t *testing.T) {
	x := []float64{0.1, 0.2, 0.30000000000000004, 1e-3, 7}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = 1e3 + v/1e9
	}
	meanX, varianceX := Moments(x)
	meanY, varianceY := Moments(y)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"mean", meanX, 1.5202},
		{"variance", varianceX, 9.3962401999999994},
		{"mean of nearly equal values", meanY, 1000.0000000015202},
		{"variance of nearly equal values", varianceY, 9.3963041818364517e-18},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if mean, variance := Moments([]float64{3}); mean != 3 || variance != 0 {
		t.Errorf("one value: mean %v, variance %v", mean, variance)
	}
	if got := Sum([]float64{1e16, 1, 1, -1e16}); got != 2 {
		t.Errorf("sum: %v, want 2", got)
	}
}
