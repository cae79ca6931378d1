package arith

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkSums is what a changepoint analysis of 2000 values computes, with many series in turns.
func BenchmarkSums(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	all := make([][]float64, 50)
	for k := range all {
		all[k] = make([]float64, 2000)
		for i := range all[k] {
			all[k][i] = 0.1 + 0.01*r.NormFloat64()
		}
	}
	for _, c := range []struct {
		name string
		of   func(x []float64)
	}{
		{"CumSum", func(x []float64) { CumSum(x) }},
		{"CumSumSquares", func(x []float64) { CumSumSquares(x) }},
		{"Moments", func(x []float64) { Moments(x) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				c.of(all[i%len(all)])
			}
		})
	}
}
