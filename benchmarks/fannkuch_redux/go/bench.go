//go:build cgo

// fannkuch_redux - for every permutation of 0 to n-1: reverse the first k+1 elements, k being the
// first, until that is 0, and count the reversals.
//
//	parameter  n, 1 to 12
//	checksum   1000 times the sum of the counts with alternating sign, plus the largest count
//
// Based on the description in the Computer Language Benchmarks Game; its order of the permutations
// decides the signs.
package main

import (
	"fmt"
	"os"

	krun "krund/runners/go"
)

const most = 12

// flips counts the reversals of a permutation without modifying it.
func flips(permutation []int) int {
	var copied [most]int
	p := copied[:copy(copied[:], permutation)]
	count := 0
	for k := p[0]; k != 0; k = p[0] {
		for i, j := 0, k; i < j; i, j = i+1, j-1 {
			p[i], p[j] = p[j], p[i]
		}
		count++
	}
	return count
}

// next makes the next permutation: the first r+1 elements rotate to the left, r starting at 1 and
// growing each time that r's turns are used up. It returns false after the last one.
func next(permutation, turns []int) bool {
	for r := 1; r < len(permutation); r++ {
		first := permutation[0]
		copy(permutation, permutation[1:r+1])
		permutation[r] = first
		if turns[r]--; turns[r] > 0 {
			return true
		}
		turns[r] = r + 1
	}
	return false
}

func checksum(n int) float64 {
	if n < 1 || n > most {
		fmt.Printf("fannkuch_redux: parameter %d is not within 1 to %d\n", n, most)
		os.Exit(1)
	}
	permutation, turns := make([]int, n), make([]int, n)
	for i := range permutation {
		permutation[i], turns[i] = i, i+1
	}
	sum, largest, sign := 0, 0, 1
	for {
		count := flips(permutation)
		sum += sign * count
		sign = -sign
		largest = max(largest, count)
		if !next(permutation, turns) {
			return float64(sum*1000 + largest)
		}
	}
}

// known checksums by parameter; README.md lists their origin. First iterations add others.
var known = map[int]float64{
	7:  228016,
	8:  1616022,
	9:  8629030,
	10: 73196038,
}

func runIter(n int) {
	got := checksum(n)
	want, ok := known[n]
	if !ok {
		known[n], want = got, got
	}
	if got != want {
		fmt.Printf("fannkuch_redux: parameter %d: checksum %.17g, expected %.17g\n", n, got, want)
		os.Exit(1)
	}
}

func main() { krun.Main(runIter) }
