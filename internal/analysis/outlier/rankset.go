package outlier

import (
	"math/bits"
	"slices"
	"sort"
)

// rankSet is a set of positions in a fixed list of values that finds the k-th smallest in
// logarithmic time: the values are ranked once (ties get different ranks), the set is one bit per
// rank, and a Fenwick tree counts the bits of each 64-bit word.
type rankSet struct {
	sorted []float64 // value of each rank
	rank   []int32   // rank of each position
	words  []uint64
	tree   []int32 // Fenwick tree over words, tree[0] unused
	top    int     // the greatest power of two not above len(words)
}

// newRankSet ranks the values, which must not be NaN; the set starts empty.
func newRankSet(values []float64) *rankSet {
	n := len(values)
	words := (n + 63) / 64
	s := &rankSet{
		sorted: slices.Sorted(slices.Values(values)),
		rank:   make([]int32, n),
		words:  make([]uint64, words),
		tree:   make([]int32, words+1),
		top:    1,
	}
	for s.top*2 <= words {
		s.top *= 2
	}
	taken := make([]int32, n) // number of positions with an equal value so far, by first rank
	for i, v := range values {
		first := sort.SearchFloat64s(s.sorted, v)
		s.rank[i] = int32(first) + taken[first]
		taken[first]++
	}
	return s
}

// add adds position i to the set; remove removes it.
func (s *rankSet) add(i int)    { s.flip(i, 1) }
func (s *rankSet) remove(i int) { s.flip(i, -1) }

func (s *rankSet) flip(i int, by int32) {
	r := int(s.rank[i])
	s.words[r/64] ^= 1 << (r % 64)
	for w := r/64 + 1; w < len(s.tree); w += w & -w {
		s.tree[w] += by
	}
}

// pair returns the k-th smallest value of the set, from 0, and the next larger one (the same value
// if there is none). The set has more than k members.
func (s *rankSet) pair(k int) (float64, float64) {
	w, left := 0, int32(k)
	for step := s.top; step > 0; step /= 2 {
		if next := w + step; next < len(s.tree) && s.tree[next] <= left {
			w = next
			left -= s.tree[next]
		}
	}
	word := s.words[w]
	for ; left > 0; left-- {
		word &= word - 1
	}
	v := s.sorted[w*64+bits.TrailingZeros64(word)]
	for word &= word - 1; word == 0; word = s.words[w] {
		if w++; w == len(s.words) {
			return v, v
		}
	}
	return v, s.sorted[w*64+bits.TrailingZeros64(word)]
}
