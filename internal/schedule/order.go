package schedule

import (
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"

	"krund/internal/experiment/key"
)

// The orders of a schedule.
const (
	RoundRobin  = "round-robin" // every key once in the given order, then every key again
	Interleaved = "interleaved" // every key once per round, each round in its own order
	Blocked     = "blocked"     // the same, with the arms of a key next to each other in each round
)

// KnownOrder reports whether order is one of the above.
func KnownOrder(order string) bool {
	return order == RoundRobin || order == Interleaved || order == Blocked
}

// Plan yields the slots of an experiment in execution order: in each round every key once that has
// executions left. executions is called once for each key; it returns the same number for all arms
// of a key. All slots are Outstanding. The result can be iterated repeatedly while keys does not
// change. The memory use is that of one round.
//
// Interleaved and Blocked draw an independent order for each round from seed and the number of the
// round alone. It is the same on every machine and with every version of Go: see the package
// documentation. A round of Blocked is a block: the slots with the same Pexec.
//
// Plan panics if order is unknown: config and Open reject unknown orders.
func Plan(keys []key.Key, executions func(key.Key) int, order string, seed uint64) iter.Seq[Slot] {
	if !KnownOrder(order) {
		panic(fmt.Sprintf("schedule: order %q", order))
	}
	return func(yield func(Slot) bool) {
		groups := groupsOf(keys, order)
		counts := make([]int, len(keys))
		for i, k := range keys {
			counts[i] = executions(k)
		}
		index := 0
		for round := 1; round <= slices.Max(append(counts, 0)); round++ {
			for _, k := range turn(groups, order, seed, uint64(round)) {
				if round > counts[k] {
					continue
				}
				s := Slot{Index: index, Flag: Outstanding, Pexec: round, Key: keys[k]}
				if !yield(s) {
					return
				}
				index++
			}
		}
	}
}

// groupsOf returns the indexes of keys that stay next to each other: with Blocked, the arms of a
// key; otherwise each key alone. Groups and their members are in the order of keys.
func groupsOf(keys []key.Key, order string) [][]int {
	var groups [][]int
	at := make(map[key.Key]int)
	for i, k := range keys {
		if order == Blocked {
			k.Arm = ""
		}
		g, seen := at[k]
		if !seen {
			g = len(groups)
			at[k] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// turn returns the indexes of the keys in the order of one round.
func turn(groups [][]int, order string, seed, round uint64) []int {
	src := rand.NewPCG(seed, round)
	if order != RoundRobin {
		groups = slices.Clone(groups)
		permute(groups, src)
	}
	var list []int
	for _, group := range groups {
		from := len(list)
		list = append(list, group...)
		if order == Blocked {
			permute(list[from:], src)
		}
	}
	return list
}

// LayoutBytes bounds Offset: a page.
const LayoutBytes = 4096

// Offset returns the layout of the executions with that number (Slot.Pexec) in an experiment with
// random layouts: by how many bytes environment and stack are moved, a multiple of 16 from 0 to
// LayoutBytes-16. It is the same for all keys and arms of a round, and for another attempt.
func Offset(seed uint64, number int) int {
	offset, _ := layout(seed, number)
	return offset
}

// LinkSeed returns the seed of experiment.relink for the executions with that number, from 0 to
// 2^31-1. Like Offset, it is the same for all keys and arms of a round, and for another attempt.
func LinkSeed(seed uint64, number int) uint32 {
	_, link := layout(seed, number)
	return link
}

func layout(seed uint64, number int) (offset int, link uint32) {
	const aligned = 16
	src := rand.NewPCG(^seed, uint64(number))
	offset = aligned * int(below(src, LayoutBytes/aligned))
	return offset, uint32(below(src, 1<<31))
}

// permute shuffles list with the Fisher-Yates algorithm (Knuth, The Art of Computer Programming 2,
// algorithm P) and numbers from PCG-DXSM. It does not use the shuffle of math/rand, which may
// change.
func permute[T any](list []T, src *rand.PCG) {
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
