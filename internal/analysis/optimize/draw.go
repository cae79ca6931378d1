package optimize

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
)

// drawer draws uniform integers below n, several from each random word: the first is the integer
// part of word/2^64 × n, the next that of the remaining fraction × n, and so on. All outcomes are
// equally likely when words whose last fraction is below 2^64 mod n^batch are rejected
// (Brackett-Rozinsky and Lemire 2024).
type drawer struct {
	random *rand.PCG
	n      uint64
	batch  int
	reject uint64
}

// rejectBelow keeps the probability of a rejection below 1 in 256.
const rejectBelow = 1 << 56

func newDrawer(n int, random *rand.PCG) drawer {
	d := drawer{random: random, n: uint64(n), batch: 1}
	power := d.n
	for power > 1 && power <= rejectBelow/d.n && d.batch < 8 {
		power *= d.n
		d.batch++
	}
	d.reject = -power % power
	return d
}

// fill draws an integer for every element of into.
func (d *drawer) fill(into []int32) {
	var drawn [8]int32
	for len(into) > 0 {
		word := d.random.Uint64()
		for i := range d.batch {
			var index uint64
			index, word = bits.Mul64(word, d.n)
			drawn[i] = int32(index)
		}
		if word < d.reject {
			continue
		}
		into = into[copy(into, drawn[:d.batch]):]
	}
}

// source returns the generator for one use of a candidate of a benchmark.
func source(seed uint64, use, benchmark string, at Position) *rand.PCG {
	h := fnv.New64a()
	_, _ = h.Write([]byte(use + "\x00" + benchmark)) // a hash has no errors
	for _, n := range at {
		var word [4]byte
		for i := range word {
			word[i] = byte(n >> (8 * i))
		}
		_, _ = h.Write(word[:])
	}
	return rand.NewPCG(seed, h.Sum64())
}
