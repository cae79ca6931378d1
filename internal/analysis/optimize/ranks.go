package optimize

// This file compares samples by their ranks: the Kruskal-Wallis test, Dunn's test of each pair
// after it, and Cliff's delta. Start reading at [Compare].

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// kruskalWallis is the test that samples have the same distribution (Kruskal and Wallis 1952),
// corrected for ties, with the chi-squared approximation: R's kruskal.test.
type kruskalWallis struct {
	H       float64
	Freedom int
	P       float64 // NaN if all values are equal, or there are fewer than two samples
}

// rankPair compares two samples.
type rankPair struct {
	A, B int // indexes
	// Dunn's test ("Multiple comparisons using rank sums", Technometrics 6, 1964) with ties, as in
	// R's dunn.test; P is two-sided, not corrected.
	Z, P float64
	// Delta is Cliff's delta (1993): how much more often a value of A is larger than one of B than
	// smaller, as in R's effsize.
	Delta float64
}

// Compare compares samples without NaN. Empty ones are left out of the test; of their pairs
// everything is NaN.
func kruskalWallisOf(samples [][]float64) (kruskalWallis, []rankPair) {
	n, means, ties := rank(samples)
	test := kruskalWallis{Freedom: -1}
	middle := (n + 1) / 2
	for i, s := range samples {
		if len(s) > 0 {
			test.Freedom++
			test.H += float64(len(s)) * (means[i] - middle) * (means[i] - middle)
		}
	}
	// The variance of a rank, less what ties take away.
	variance := n*(n+1)/12 - ties/(12*(n-1))
	test.H /= variance
	test.P = math.NaN()
	if test.Freedom > 0 && variance > 0 {
		test.P = distuv.ChiSquared{K: float64(test.Freedom)}.Survival(test.H)
	}
	var pairs []rankPair
	for i, a := range samples {
		for j := i + 1; j < len(samples); j++ {
			b := samples[j]
			p := rankPair{A: i, B: j, Delta: cliffsDelta(a, b)}
			p.Z = (means[i] - means[j]) / math.Sqrt(variance*(1/float64(len(a))+1/float64(len(b))))
			p.P = math.Erfc(math.Abs(p.Z) / math.Sqrt2)
			pairs = append(pairs, p)
		}
	}
	return test, pairs
}

// rank returns the number of values, the mean rank of each sample (equal values share theirs), and
// the sum of t³-t over groups of t equal values.
func rank(samples [][]float64) (n float64, means []float64, ties float64) {
	all := slices.Sorted(slices.Values(slices.Concat(samples...)))
	for i := 0; i < len(all); {
		same := equalFrom(all, i)
		t := float64(same - i)
		ties += t*t*t - t
		i = same
	}
	for _, s := range samples {
		sum := 0.0
		for _, v := range s {
			from, _ := slices.BinarySearch(all, v)
			sum += float64(from+1+equalFrom(all, from)) / 2
		}
		means = append(means, sum/float64(len(s)))
	}
	return float64(len(all)), means, ties
}

// equalFrom returns the index after the last value that equals that at i.
func equalFrom(sorted []float64, i int) int {
	end := i + 1
	for end < len(sorted) && sorted[end] == sorted[i] {
		end++
	}
	return end
}

// Delta is Cliff's delta, from -1 (all values of a are smaller) to 1; NaN if a sample is empty.
func cliffsDelta(a, b []float64) float64 {
	sorted := slices.Sorted(slices.Values(b))
	sum := 0
	for _, v := range a {
		from, found := slices.BinarySearch(sorted, v)
		to := from
		if found {
			to = equalFrom(sorted, from)
		}
		sum += from - (len(b) - to)
	}
	return float64(sum) / float64(len(a)*len(b))
}

// Size is the usual word for a delta (Romano et al. 2006).
func cliffsSize(delta float64) string {
	switch d := math.Abs(delta); {
	case math.IsNaN(d):
		return ""
	case d < 0.147:
		return "negligible"
	case d < 0.33:
		return "small"
	case d < 0.474:
		return "medium"
	}
	return "large"
}
