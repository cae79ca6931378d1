package history

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
)

// These are other methods, for comparison: E-divisive (Matteson and James 2014), here with a t test
// in windows and a merge step, as Hunter (Fleming et al. 2023), which is now apache/otava, has it.
// methods_slow_test.go has the permutation test, as MongoDB's signal-processing-algorithms have it.
// They are written from the papers, and TestRival checks otava's by its own expected results.

// energy has the sums of the distances between all values from i to before j.
type energy [][]float64

func newEnergy(x []float64) energy {
	n := len(x)
	w := make(energy, n+1)
	for i := n; i >= 0; i-- {
		w[i] = make([]float64, n+1)
		row := 0.0 // of i with those from i+1 to before j
		for j := i + 1; j <= n; j++ {
			if j-1 > i {
				row += math.Abs(x[i] - x[j-1])
			}
			w[i][j] = w[i+1][j] + row
		}
	}
	return w
}

// split returns the split of [from, to) with the largest divergence of [from, tau) and [tau,
// kappa), over all kappa.
func (w energy) split(from, to int) (at int, q float64) {
	q = math.Inf(-1)
	for tau := from + 1; tau < to; tau++ {
		for kappa := tau + 1; kappa <= to; kappa++ {
			n, m := float64(tau-from), float64(kappa-tau)
			x, y := w[from][tau], w[tau][kappa]
			v := w[from][kappa] - x - y
			if n > 1 {
				v -= m / (n - 1) * x
			}
			if m > 1 {
				v -= n / (m - 1) * y
			}
			if v *= 2 / (n + m); v > q {
				q, at = v, tau
			}
		}
	}
	return at, q
}

// divide finds changepoints as long as the best split of a segment is significant.
func divide(x []float64, significant func(cuts []int, at int, q float64) bool) []int {
	w := newEnergy(x)
	cuts := []int{0, len(x)}
	for {
		best, at := math.Inf(-1), 0
		for i := 1; i < len(cuts); i++ {
			if s, q := w.split(cuts[i-1], cuts[i]); q > best {
				best, at = q, s
			}
		}
		if at == 0 || !significant(cuts, at, best) {
			return cuts[1 : len(cuts)-1]
		}
		cuts = append(cuts, at)
		sort.Ints(cuts)
	}
}

// tTest returns the p-value of Student's test, and the change relative to the smaller mean. As
// otava does, it takes the standard deviations with n in the denominator for those with n-1, which
// makes p-values smaller.
func tTest(left, right []float64) (p, size float64) {
	n, m := float64(len(left)), float64(len(right))
	a, b := stat.Mean(left, nil), stat.Mean(right, nil)
	size = max(math.Abs(b/a-1), math.Abs(a/b-1))
	if n+m <= 2 {
		return 1, size
	}
	square := 0.0
	for _, v := range left {
		square += (v - a) * (v - a) * (n - 1) / n
	}
	for _, v := range right {
		square += (v - b) * (v - b) * (m - 1) / m
	}
	t := math.Abs(a-b) / math.Sqrt(square/(n+m-2)*(1/n+1/m))
	return 2 * studentTail(t, n+m-2), size
}

// otava is the method of apache/otava with its defaults: windows of 50, and no smallest size.
func otava(x []float64, window int, level, smallest float64) []int {
	first := level
	switch {
	case level < 0.05:
		first *= 10
	case level < 0.5:
		first *= 2
	}
	var weak []int
	for start := 0; start < len(x); {
		part := x[start:min(start+window, len(x))]
		found := divide(part, func(cuts []int, at int, _ float64) bool {
			i := sort.SearchInts(cuts, at)
			p, _ := tTest(part[cuts[i-1]:at], part[at:cuts[i]])
			return p <= first
		})
		next := start + window/2
		for _, c := range found {
			if !slices.Contains(weak, start+c) {
				weak = append(weak, start+c)
			}
			next = max(next, start+c)
		}
		start = next
	}
	sort.Ints(weak)
	return merge(x, weak, level, smallest)
}

// merge removes the weakest changepoint until all are significant. As otava does, it then tests the
// changepoint after the removed one and the next, and not the one before.
func merge(x []float64, cuts []int, level, smallest float64) []int {
	p, size := make([]float64, len(cuts)), make([]float64, len(cuts))
	test := func(i int) {
		if i >= len(cuts) {
			return
		}
		from, to := 0, len(x)
		if i > 0 {
			from = cuts[i-1]
		}
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		p[i], size[i] = tTest(x[from:cuts[i]], x[cuts[i]:to])
	}
	for i := range cuts {
		test(i)
	}
	for len(cuts) > 0 {
		worst := slices.Index(p, slices.Max(p))
		if p[worst] < level {
			worst = slices.Index(size, slices.Min(size))
			if size[worst] > smallest {
				break
			}
		}
		cuts, p, size = slices.Delete(cuts, worst, worst+1), slices.Delete(p, worst, worst+1),
			slices.Delete(size, worst, worst+1)
		test(worst)
		test(worst + 1)
	}
	return cuts
}
