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
// Start reading at [Find].
package outlier

import (
	"errors"
	"fmt"
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
