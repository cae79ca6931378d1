// Package outlier detects iterations that lie far from their neighbors.
//
// The rule is the study's (section 4.1, after Tukey 1977): a value is an outlier when it is outside
//
//	median ± 3 × (90th percentile − 10th percentile)
//
// The details follow the study's program (warmup_stats, outliers.py). The window of iteration i,
// from 0, is [i−w/2, i+w/2), truncated at both ends of the series. It is skipped when it begins at
// 0 and ends before w, so that slow first iterations, which are warmup, are kept; at the other end
// the windows get shorter. Percentiles are linearly interpolated, and both comparisons are strict.
// In a series shorter than the window the second half is still tested, with truncated windows.
// Start reading at [Rule.Find]; the rule of Traini et al. (2023) is [FindUnion].
package outlier

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"krund/internal/analysis/arith"
)

// The parameters of the study.
const (
	band        = 3.0
	lowPercent  = 10.0
	highPercent = 90.0
)

// ErrWindow reports a window of fewer than two iterations.
var ErrWindow = errors.New("outlier window must be at least 2 iterations")

// ErrNotFinite reports that a series has a NaN or an infinity.
var ErrNotFinite = errors.New("not a finite number")

// Find returns the ascending indexes, from 0, of the outliers of a series, for windows of size
// iterations. The series is not changed. The time hardly depends on the size: see window. The
// errors wrap ErrWindow and ErrNotFinite.
func Find(series []float64, size int) ([]int, error) {
	if size < 2 {
		return nil, fmt.Errorf("window %d: %w", size, ErrWindow)
	}
	if err := checkFinite(series); err != nil {
		return nil, err
	}
	found := []int{}
	n, half := len(series), size/2
	w := newWindow(series, size)
	for i, v := range series {
		from, to := max(0, i-half), min(n, i+half)
		if from == 0 && to < size {
			continue
		}
		w.slide(from, to)
		median := w.median()
		width := float64(band * (w.percentile(highest, highPercent) - w.percentile(lowest, lowPercent)))
		if v > median+width || v < median-width {
			found = append(found, i)
		}
	}
	return found, nil
}

// percentile is arith.Percentile of the values.
func (w *window) percentile(cursor int, pc float64) float64 {
	lo, hi, wlo, whi := arith.Position(w.to-w.from, pc)
	a, b := w.pair(cursor, lo)
	if lo == hi {
		return a
	}
	return float64(a*wlo) + float64(b*whi)
}

func checkFinite(series []float64) error {
	if i := slices.IndexFunc(series, func(v float64) bool { return v-v != 0 }); i >= 0 {
		return fmt.Errorf("iteration %d is %v: %w", i+1, series[i], ErrNotFinite)
	}
	return nil
}

// Remove returns the series without the iterations at the given ascending indexes, and the index in
// the original series of each remaining value.
func Remove(series []float64, outliers []int) (kept []float64, index []int) {
	kept = make([]float64, 0, len(series)-len(outliers))
	index = make([]int, 0, len(series)-len(outliers))
	next := 0
	for i, v := range series {
		if next < len(outliers) && outliers[next] == i {
			next++
			continue
		}
		kept = append(kept, v)
		index = append(index, i)
	}
	return kept, index
}

// Split partitions the outliers of a pair's process executions into common ones, which at least
// threshold of the other executions have at the same iteration (likely a property of the program,
// such as a garbage collection), and unique ones. Each argument and result is one ascending list
// per execution; warmup_stats uses threshold 1.
func Split(all [][]int, threshold int) (common, unique [][]int) {
	count := map[int]int{}
	for _, outliers := range all {
		for _, i := range outliers {
			count[i]++
		}
	}
	common, unique = make([][]int, len(all)), make([][]int, len(all))
	for e, outliers := range all {
		common[e], unique[e] = []int{}, []int{}
		for _, i := range outliers {
			if count[i]-1 >= threshold {
				common[e] = append(common[e], i)
			} else {
				unique[e] = append(unique[e], i)
			}
		}
	}
	return common, unique
}

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
