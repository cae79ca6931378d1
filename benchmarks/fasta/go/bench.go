//go:build cgo

// fasta - write DNA sequences as lines of text: one by repeating a given piece, two by choosing
// letters with a weighted random number.
//
//	parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
//	checksum   of the lines, from 0: 31 times the checksum so far plus the sum of the line's
//	           character codes, modulo 2 to the 32
//
// Based on the description in the Computer Language Benchmarks Game. Nothing is printed, and each
// iteration starts from the same random seed.
package main

import (
	"fmt"
	"os"

	krun "krund/runners/go"
)

const (
	width = 60
	most  = 10000000
	alu   = "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG" +
		"GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA" +
		"CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT" +
		"ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA" +
		"GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG" +
		"AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC" +
		"AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA"
)

type weighted struct {
	letter byte
	share  float64
}

var iub = []weighted{
	{'a', 0.27}, {'c', 0.12}, {'g', 0.12}, {'t', 0.27}, {'B', 0.02}, {'D', 0.02}, {'H', 0.02}, {'K', 0.02},
	{'M', 0.02}, {'N', 0.02}, {'R', 0.02}, {'S', 0.02}, {'V', 0.02}, {'W', 0.02}, {'Y', 0.02},
}

var homoSapiens = []weighted{
	{'a', 0.3029549426680}, {'c', 0.1979883004921}, {'g', 0.1975473066391}, {'t', 0.3015094502008},
}

// writer is the state of one iteration.
type writer struct {
	sum  uint32
	seed int
}

// line replaces printing.
func (w *writer) line(text []byte) {
	codes := uint32(0)
	for _, c := range text {
		codes += uint32(c)
	}
	w.sum = w.sum*31 + codes
}

// write writes a number of letters, one after the other, in lines.
func (w *writer) write(letters int, next func() byte) {
	var line [width]byte
	for ; letters > 0; letters -= width {
		text := line[:min(letters, width)]
		for i := range text {
			text[i] = next()
		}
		w.line(text)
	}
}

func (w *writer) repeat(piece string, letters int) {
	at := 0
	w.write(letters, func() byte {
		c := piece[at]
		if at++; at == len(piece) {
			at = 0
		}
		return c
	})
}

// random is in [0, 1), by a linear congruential generator that is the same everywhere.
func (w *writer) random() float64 {
	w.seed = (w.seed*3877 + 29573) % 139968
	return float64(w.seed) / 139968.0
}

// randomLetters chooses the first letter whose cumulative share exceeds a random number.
func (w *writer) randomLetters(table []weighted, letters int) {
	below := make([]float64, len(table))
	total := 0.0
	for i, t := range table {
		total += t.share
		below[i] = total
	}
	w.write(letters, func() byte {
		r := w.random()
		i := 0
		for i < len(table)-1 && r >= below[i] {
			i++
		}
		return table[i].letter
	})
}

func checksum(n int) float64 {
	if n < 0 || n > most {
		fmt.Printf("fasta: parameter %d is not within 0 to %d\n", n, most)
		os.Exit(1)
	}
	w := writer{seed: 42}
	w.line([]byte(">ONE Homo sapiens alu"))
	w.repeat(alu, 2*n)
	w.line([]byte(">TWO IUB ambiguity codes"))
	w.randomLetters(iub, 3*n)
	w.line([]byte(">THREE Homo sapiens frequency"))
	w.randomLetters(homoSapiens, 5*n)
	return float64(w.sum)
}

// known checksums by parameter; README.md lists their origin. First iterations add others.
var known = map[int]float64{
	1000:   3225012143,
	30000:  4059268609,
	100000: 3438851865,
}

func runIter(n int) {
	got := checksum(n)
	want, ok := known[n]
	if !ok {
		known[n], want = got, got
	}
	if got != want {
		fmt.Printf("fasta: parameter %d: checksum %.17g, expected %.17g\n", n, got, want)
		os.Exit(1)
	}
}

func main() { krun.Main(runIter) }
