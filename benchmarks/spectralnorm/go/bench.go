//go:build cgo

// spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ..., truncated to n by n, by
// the power method with ten rounds.
//
//	parameter  n, 1 to 10000
//	checksum   the norm
//
// Based on the description in the Computer Language Benchmarks Game. Every language does the same
// operations in the same order, so the last bit agrees. A conversion to float64 keeps the compiler
// from fusing a multiplication with an addition, which rounds differently.
package main

import (
	"fmt"
	"math"
	"os"

	krun "krund/runners/go"
)

const most = 10000

// element returns the element in row i and column j: 1 / its index along the diagonals.
func element(i, j int) float64 { return 1.0 / float64((i+j)*(i+j+1)/2+i+1) }

// times computes out = A in.
func times(in, out []float64) {
	for i := range out {
		sum := 0.0
		for j := range in {
			sum += float64(element(i, j) * in[j])
		}
		out[i] = sum
	}
}

// transposed computes out = A' in.
func transposed(in, out []float64) {
	for i := range out {
		sum := 0.0
		for j := range in {
			sum += float64(element(j, i) * in[j])
		}
		out[i] = sum
	}
}

func checksum(n int) float64 {
	if n < 1 || n > most {
		fmt.Printf("spectralnorm: parameter %d is not within 1 to %d\n", n, most)
		os.Exit(1)
	}
	u, v, w := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range u {
		u[i] = 1
	}
	for range 10 {
		times(u, w)
		transposed(w, v)
		times(v, w)
		transposed(w, u)
	}
	var uv, vv float64
	for i := range u {
		uv += float64(u[i] * v[i])
		vv += float64(v[i] * v[i])
	}
	return math.Sqrt(uv / vv)
}

// known checksums by parameter; README.md lists their origin. First iterations add others.
var known = map[int]float64{
	100: 1.2742199912349306,
	500: 1.2742241159529055,
}

func runIter(n int) {
	got := checksum(n)
	want, ok := known[n]
	if !ok {
		known[n], want = got, got
	}
	if got != want {
		fmt.Printf("spectralnorm: parameter %d: checksum %.17g, expected %.17g\n", n, got, want)
		os.Exit(1)
	}
}

func main() { krun.Main(runIter) }
