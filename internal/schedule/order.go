package schedule

import (
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"

	"krund/internal/key"
)

// The orders of a schedule.
const (
	RoundRobin  = "round-robin" // every key once in the given order, then every key again
	Interleaved = "interleaved" // every key once per round, each round in its own order
)

// KnownOrder reports whether order is one of the above.
func KnownOrder(order string) bool { return order == RoundRobin || order == Interleaved }

// Plan yields the slots of an experiment in execution order: in each of executions rounds, every
// key once. All slots are Outstanding. The result can be iterated repeatedly while keys does not
// change. The memory use is that of one round.
//
// Interleaved draws an independent permutation for each round from seed and the number of the round
// alone. It is the same on every machine and with every version of Go: see the package
// documentation.
//
// Plan panics if order is unknown: config and Open reject unknown orders.
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

// permute shuffles list with the Fisher-Yates algorithm (Knuth, The Art of Computer Programming 2,
// algorithm P) and numbers from PCG-DXSM seeded with seed and round. It does not use the shuffle of
// math/rand, which may change.
func permute(list []int, seed, round uint64) {
	src := rand.NewPCG(seed, round)
	for i := len(list) - 1; i > 0; i-- {
		j := below(src, uint64(i)+1)
		list[i], list[j] = list[j], list[i]
	}
}

// below draws a number from 0 to n-1 with equal probability: the upper half of a 64 by 64 bit
// product, redrawn in the few cases that would introduce a bias (Lemire, Fast Random Integer
// Generation in an Interval, ACM TOMACS 29, 2019).
func below(src *rand.PCG, n uint64) uint64 {
	favoured := -n % n // 2^64 mod n
	for {
		high, low := bits.Mul64(src.Uint64(), n)
		if low >= favoured {
			return high
		}
	}
}
