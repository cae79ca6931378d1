package optimize

import (
	"cmp"
	"math"
	"slices"
)

// A bootstrap approximates the distribution of a statistic over all n^n equally likely resamples.
// Where the exact distribution can be computed, it is used instead: for the median except in very
// long samples, for the mean of few values.

const (
	// longestEnumerated is the limit for the mean: 24310 different resamples.
	longestEnumerated = 9
	// longestExactMedian values have up to 20100 possible medians.
	longestExactMedian = 200
)

// atom is a value of a statistic with its probability.
type atom struct{ value, weight float64 }

// atoms is a discrete distribution, in any order. The weights need not add up to 1.
type atoms []atom

// roundoff bounds the rounding error of sums of weights; a quantile must not depend on it.
const roundoff = 1e-12

// interval returns the quantiles that exclude (1-level)/2 on either side: from either end, the
// first value whose cumulative probability reaches that share. It reorders the atoms.
func (a atoms) interval(level float64) Interval {
	slices.SortFunc(a, func(x, y atom) int { return cmp.Compare(x.value, y.value) })
	total := 0.0
	for _, x := range a {
		total += x.weight
	}
	out := total * ((1-level)/2 - roundoff)
	i, below := 0, 0.0
	for ; i < len(a)-1 && below+a[i].weight < out; i++ {
		below += a[i].weight
	}
	j, above := len(a)-1, 0.0
	for ; j > 0 && above+a[j].weight < out; j-- {
		above += a[j].weight
	}
	return newInterval(a[i].value, a[j].value)
}

// enumerate returns the distribution of a statistic over all resamples for which it is defined.
func (r *resampler) enumerate(statistic func() (v float64, ok bool)) atoms {
	n := len(r.sorted)
	factorial := make([]float64, n+1)
	factorial[0] = 1
	for k := range n {
		factorial[k+1] = factorial[k] * float64(k+1)
	}
	var list atoms
	var add func(rank, drawn int, weight float64)
	add = func(rank, drawn int, weight float64) {
		if drawn == n {
			if v, ok := statistic(); ok {
				list = append(list, atom{v, weight})
			}
			return
		}
		least := 0
		if rank == n-1 {
			least = n - drawn // the last value fills the resample
		}
		for k := 0; k <= n-drawn; k++ {
			if k > 0 {
				r.ranks[drawn+k-1] = int32(rank)
			}
			if k >= least {
				add(rank+1, drawn+k, weight/factorial[k])
			}
		}
	}
	add(0, 0, factorial[n]/math.Pow(float64(n), float64(n)))
	return list
}

// medianAtoms is the distribution of the median of a resample of n sorted values. For odd n, it is
// x_k with the probability that the middle one of n uniform ranks is k. For even n = 2h, the middle
// two are i < j when h of the draws are at most i, with at least one equal to i, and h at least j,
// with at least one equal to j: (2h over h) (i^h-(i-1)^h) ((n-j+1)^h-(n-j)^h) / n^n, counting from
// 1.
func medianAtoms(x []float64) atoms {
	n := len(x)
	if n%2 == 1 {
		list := make(atoms, n)
		before := 0.0
		for k := range x {
			upTo := atLeast(n, n/2+1, float64(k+1)/float64(n))
			list[k] = atom{x[k], upTo - before}
			before = upTo
		}
		return list
	}
	h := n / 2
	binomial := logChoose(n, h)
	low := make([]float64, n) // logarithms of the two differences over n^h
	for i := range low {
		up, down := float64(i+1)/float64(n), float64(i)/float64(n)
		low[i] = math.Log(math.Pow(up, float64(h)) - math.Pow(down, float64(h)))
	}
	list := make(atoms, 0, n*(n+1)/2)
	for i := range x {
		// the lower one is i
		rest := atLeast(n, h, float64(i+1)/float64(n)) - atLeast(n, h, float64(i)/float64(n))
		for j := i + 1; j < n; j++ {
			w := math.Exp(binomial + low[i] + low[n-1-j])
			rest -= w
			list = append(list, atom{(x[i] + x[j]) / 2, w})
		}
		list = append(list, atom{x[i], max(rest, 0)})
	}
	return list
}

// atLeast is the probability of k or more successes in n trials with probability p.
func atLeast(n, k int, p float64) float64 {
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	total := 0.0
	for i := k; i <= n; i++ {
		total += math.Exp(logChoose(n, i) + float64(float64(i)*math.Log(p)) +
			float64(float64(n-i)*math.Log1p(-p)))
	}
	return min(total, 1)
}

// logChoose is the logarithm of the binomial coefficient n over k.
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
