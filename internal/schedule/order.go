package schedule

import (
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"

	"krund/internal/key"
)

// The orders a schedule can have.
const (
	RoundRobin  = "round-robin" // every key once in the given order, then every key again
	Interleaved = "interleaved" // in each round every key once, in an order of the round's own
)

// KnownOrder reports whether order is one of the above.
func KnownOrder(order string) bool { return order == RoundRobin || order == Interleaved }

// Plan yields the slots of an experiment in the order of running: executions
// rounds, and in each round every key once. All are Outstanding. The result can
// be ranged over again; keys must not change meanwhile. Memory is needed for
// one round, not for all.
//
// Interleaved draws a permutation for each round, independently of the others,
// from seed and the round's number alone. It is the same on every machine and
// with every version of Go: see the package's doc.
//
// Plan panics if order is unknown: config and Open accept no other.
func Plan(keys []key.Key, executions int, order string, seed uint64) iter.Seq[Slot] {
	if !KnownOrder(order) {
		panic(fmt.Sprintf("schedule: order %q", order))
	}
	return func(yield func(Slot) bool) {
		turn := make([]int, len(keys))
		index := 0
		for round := 1; round <= executions; round++ {
			for i := range turn {
				turn[i] = i
			}
			if order == Interleaved {
				permute(turn, seed, uint64(round))
			}
			for _, k := range turn {
				s := Slot{Index: index, Flag: Outstanding, Pexec: round, Key: keys[k]}
				if !yield(s) {
					return
				}
				index++
			}
		}
	}
}

// permute shuffles list by Fisher and Yates (Knuth, The Art of Computer
// Programming 2, algorithm P) with the numbers of PCG-DXSM seeded with seed and
// round. The shuffle is spelled out here because math/rand's may change.
func permute(list []int, seed, round uint64) {
	src := rand.NewPCG(seed, round)
	for i := len(list) - 1; i > 0; i-- {
		j := below(src, uint64(i)+1)
		list[i], list[j] = list[j], list[i]
	}
}

// below draws a number from 0 to n-1, all equally likely: the upper half of a
// 64 by 64 bit product, redrawn in the few cases that would favour some numbers
// (Lemire, Fast Random Integer Generation in an Interval, ACM TOMACS 29, 2019).
func below(src *rand.PCG, n uint64) uint64 {
	favoured := -n % n // 2^64 mod n
	for {
		high, low := bits.Mul64(src.Uint64(), n)
		if low >= favoured {
			return high
		}
	}
}
