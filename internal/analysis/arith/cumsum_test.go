package arith

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

// plain computes prefix sums, prefix sums of squares, mean and variance as R does on x87, with 64
// bits of precision.
func plain(x []float64) (sums, squares []float64, mean, variance float64) {
	float := func() *big.Float { return new(big.Float).SetPrec(64) }
	double := func(f *big.Float) float64 { v, _ := f.Float64(); return v }
	over := func(f *big.Float, n int) *big.Float { return float().Quo(f, float().SetInt64(int64(n))) }
	sum, square := float(), float()
	sums, squares = []float64{0}, []float64{0}
	for _, v := range x {
		sums = append(sums, double(sum.Add(sum, float().SetFloat64(v))))
		squares = append(squares, double(square.Add(square, float().SetFloat64(v*v))))
	}
	first, rest := over(sum, len(x)), float()
	for _, v := range x {
		rest.Add(rest, float().Sub(float().SetFloat64(v), first))
	}
	mean = double(float().Add(first, over(rest, len(x))))
	square = float()
	for _, v := range x {
		d := float().Sub(float().SetFloat64(v), float().SetFloat64(mean))
		square.Add(square, float().Mul(d, d))
	}
	if len(x) > 1 {
		variance = double(over(square, len(x)-1))
	}
	return sums, squares, mean, variance
}

// series are the kinds of series that are compared: a value by its index.
var series = []func(r *rand.Rand, i int) float64{
	func(r *rand.Rand, _ int) float64 { return 0.1 * (1 + 0.01*r.NormFloat64()) },
	func(r *rand.Rand, _ int) float64 { return 1 + 0.2*r.NormFloat64() },
	func(r *rand.Rand, _ int) float64 { return 0.5 + 1e-9*r.NormFloat64() }, // about a power of two
	func(r *rand.Rand, _ int) float64 { return 3 + 1e-15*float64(r.IntN(9)) },
	func(r *rand.Rand, _ int) float64 { return math.Round(1e8*(1+0.02*r.NormFloat64())) / 1e9 },
	func(r *rand.Rand, i int) float64 { return -0.3*float64(1+i/50) + 0.01*r.NormFloat64() },
	func(r *rand.Rand, _ int) float64 { return 0.1 + r.Float64()*math.Ldexp(1, r.IntN(40)-30) },
	func(r *rand.Rand, _ int) float64 { return math.Ldexp(1+r.Float64()/4, 500) },
	func(r *rand.Rand, _ int) float64 { return math.Ldexp(1+r.Float64()/4, -1010) },
	func(r *rand.Rand, _ int) float64 { return r.NormFloat64() },
	func(r *rand.Rand, _ int) float64 { return math.Round(r.NormFloat64()) },
	func(r *rand.Rand, _ int) float64 { return 5e-324 * float64(r.IntN(5)) },
	func(r *rand.Rand, _ int) float64 { return 0.1 },
	func(r *rand.Rand, i int) float64 { return []float64{1e16, 1, -1e16, 0.7}[i%4] },
	func(r *rand.Rand, _ int) float64 { return number(r) / 0x1p600 },
}

func TestSumsAreLongDoubleSums(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for k, kind := range series {
		for round := range 200 {
			x := make([]float64, 1+r.IntN(1+10*round/9))
			for i := range x {
				x[i] = kind(r, i)
			}
			sums, squares, wantMean, wantVariance := plain(x)
			got := CumSum(x)
			must.Need(t, slices.Equal(got, sums), "kind", k, len(x), "values: sums", got, "want", sums)
			if got := CumSumSquares(x); !slices.Equal(got, squares) {
				t.Fatalf("kind %d, %d values: sums of squares %v, want %v", k, len(x), got, squares)
			}
			mean, variance := Moments(x)
			must.Need(t, mean == wantMean && variance == wantVariance, "kind", k, len(x), "values: mean",
				mean, "variance", variance, "want", wantMean, "and", wantVariance)
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
		must.Equal(t, c.got, c.want, c.name)
	}
	mean, variance := Moments([]float64{3})
	must.Be(t, mean == 3 && variance == 0, "one value: mean", mean, "variance", variance)
	must.Equal(t, Sum([]float64{1e16, 1, 1, -1e16}), 2, "sum", "want 2")
}
