package outlier

import (
	"math/bits"

	"krund/internal/analysis/arith"
)

// window slides over a series and finds order statistics of its values: series[from:to].
//
// The values of a stretch of the series are ranked once, equal ones in the order of the series. The
// members of the window are the bits that are set in a list of one bit per rank, so that the next
// larger value is the next bit. Three cursors follow the low percentile, the median and the high
// percentile: when the window slides by one value they move by at most one member. A step therefore
// takes about the same time for windows of any length; a stretch is a few windows long.
type window struct {
	series   []float64
	from, to int

	first   int       // the ranked stretch is series[first:first+len(rank)]
	rank    []int32   // of each value of the stretch
	sorted  []float64 // value of each rank
	members []uint64  // a bit per rank, and one more that ends every search
	cursors [3]cursor
}

// cursor is a rank, and the number of members below it.
type cursor struct{ rank, below int }

// The indexes of the cursors.
const (
	lowest = iota
	middle
	highest
)

// shortestStretch is the number of values that are ranked at a time for short windows.
const shortestStretch = 4096

// newWindow returns an empty window at the beginning of a series without NaN, which will hold at
// most size values.
func newWindow(series []float64, size int) *window {
	n := min(len(series), max(shortestStretch, 8*size))
	return &window{series: series, rank: make([]int32, 0, n), sorted: make([]float64, n+1),
		members: make([]uint64, n/64+1)}
}

// slide makes the window series[from:to]. Neither end moves backwards.
func (w *window) slide(from, to int) {
	if to > w.first+len(w.rank) {
		w.rankFrom(from)
	}
	for ; w.to < to; w.to++ {
		w.flip(w.to, 1)
	}
	for ; w.from < from; w.from++ {
		w.flip(w.from, -1)
	}
}

// rankFrom ranks the stretch that begins at from, where the window is then empty.
func (w *window) rankFrom(from int) {
	n := min(cap(w.rank), len(w.series)-from)
	w.from, w.to, w.first, w.rank = from, from, from, w.rank[:n]
	stretch := w.series[from : from+n]
	for r, i := range arith.Ascending(stretch) {
		w.rank[i], w.sorted[r] = int32(r), stretch[i]
	}
	clear(w.members)
	w.members[n/64] = 1 << (n % 64)
	w.cursors = [3]cursor{}
}

// flip adds series[i] to the members (by is 1) or removes it (-1).
func (w *window) flip(i, by int) {
	rank := int(w.rank[i-w.first])
	w.members[rank/64] ^= 1 << (rank % 64)
	for k := range w.cursors {
		c := &w.cursors[k]
		c.below += by & ((rank - c.rank) >> 63) // by if rank < c.rank, without a branch
	}
}

// pair moves a cursor to the k-th smallest value, from 0, and returns it and the next larger one.
// The window has more than k values; next is meaningless if there is none.
func (w *window) pair(cursor, k int) (value, next float64) {
	c := &w.cursors[cursor]
	for ; c.below > k; c.below-- {
		c.rank = w.previous(c.rank)
	}
	for c.rank = w.next(c.rank); c.below < k; c.below++ {
		c.rank = w.next(c.rank + 1)
	}
	return w.sorted[c.rank], w.sorted[w.next(c.rank+1)]
}

// median returns the median of the values.
func (w *window) median() float64 {
	size := w.to - w.from
	value, next := w.pair(middle, (size-1)/2)
	if size%2 == 0 {
		return (value + next) / 2
	}
	return value
}

// next returns the first member from rank on.
func (w *window) next(rank int) int {
	i := rank / 64
	bit := w.members[i] &^ (1<<(rank%64) - 1)
	for bit == 0 {
		i++
		bit = w.members[i]
	}
	return i*64 + bits.TrailingZeros64(bit)
}

// previous returns the last member before rank.
func (w *window) previous(rank int) int {
	i := rank / 64
	bit := w.members[i] & (1<<(rank%64) - 1)
	for bit == 0 {
		i--
		bit = w.members[i]
	}
	return i*64 + 63 - bits.LeadingZeros64(bit)
}
