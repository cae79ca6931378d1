package history

import (
	"math"
	"slices"
	"sync"
)

// order returns the logarithm of 1/p, where p is the probability that versions in random order are
// separated as well by a change at a point: as many of those after it on their side of middle, as
// in Fisher's exact test (both directions).
//
// An e-value assumes normal noise, and is huge when a few versions of one state follow a few of
// another. This does not depend on the noise.
func order(points []point, at int, middle float64) float64 {
	n, m := len(points), len(points)-at
	high, after := 0, 0
	for i, p := range points {
		if p.x > middle {
			high++
			if i >= at {
				after++
			}
		}
	}
	if after*n < high*m { // the change is downwards
		high, after = n-high, m-after
	}
	tail := math.Inf(-1)
	for k := after; k <= min(m, high); k++ {
		tail = logAdd(tail, logChoose(high, k)+logChoose(n-high, m-k))
	}
	return best(n, m) - tail
}

// best returns the largest value of order for n versions, m of them after the change.
func best(n, m int) float64 { return logChoose(n, m) - math.Ln2 }

// logChoose is the logarithm of the binomial coefficient n over k.
func logChoose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	return logFactorial(n) - logFactorial(k) - logFactorial(n-k)
}

// factorials are the logarithms of the first factorials.
var factorials = sync.OnceValue(func() []float64 {
	list := make([]float64, 1000)
	for n := range list {
		list[n], _ = math.Lgamma(float64(n + 1))
	}
	return list
})

func logFactorial(n int) float64 {
	if list := factorials(); n < len(list) {
		return list[n]
	}
	v, _ := math.Lgamma(float64(n + 1))
	return v
}

// neighbors measures whether neighboring versions of a level are more alike than others: Bartels'
// rank version of von Neumann's ratio (Journal of the American Statistical Association 77, 1982),
// summed over levels. Without dependence its mean is 0.
type neighbors struct {
	n, sum, variance, levels float64
}

// mostAlike bounds correlations, so that what they inflate is finite.
const mostAlike = 0.95

// Quantiles of the test of neighbors. Of independent histories, one in 20 needs more evidence for a
// change, and one in 100 is reported to drift.
const (
	cautious = 1.645
	certain  = 2.326
)

// with adds a level, of each machine by itself; those of fewer than five versions say nothing.
func (s neighbors) with(level []point) neighbors {
	const fewest = 5
	if at := slices.IndexFunc(level, func(p point) bool { return p.offset != level[0].offset }); at > 0 {
		return s.with(level[:at]).with(level[at:])
	}
	n := float64(len(level))
	if n < fewest {
		return s
	}
	ranks := ranksOf(level)
	squares, steps := 0.0, 0.0
	for i, r := range ranks {
		squares += (r - (n+1)/2) * (r - (n+1)/2)
		if i > 0 {
			steps += (r - ranks[i-1]) * (r - ranks[i-1])
		}
	}
	if squares == 0 {
		return s
	}
	return neighbors{s.n + n, s.sum + n*(1-steps/squares/2),
		s.variance + n*n*(n-2)*(5*n*n-2*n-9)/(5*n*(n+1)*(n-1)*(n-1)), s.levels + 1}
}

// correlation returns the correlation of neighbors; 0 if it is not significant at the quantile.
func (s neighbors) correlation(quantile float64) float64 {
	if s.n == 0 || s.sum <= quantile*math.Sqrt(s.variance) {
		return 0
	}
	return min(s.sum/s.n, mostAlike)
}

// inflation is the variance of the mean of n neighbors, in those of independent ones, if their
// correlation decreases geometrically with the distance.
func inflation(n, correlation float64) float64 {
	r := 1 - correlation
	return (1+correlation)/r - 2*correlation*(1-math.Pow(correlation, n))/(n*r*r)
}

// similar is how the correlations of the keys of a machine are distributed.
type similar struct {
	known         bool
	mean, between float64 // between is a variance
}

// similarTo returns the distribution of correlations.
func similarTo(list []neighbors) similar {
	if len(list) < fewestKeys {
		return similar{}
	}
	var p pooled
	for _, s := range list {
		p = p.with(s.value(), s.variance/(s.n*s.n))
	}
	return similar{known: true, mean: p.mean, between: p.between()}
}

// pooled are estimates, weighted by their variances.
type pooled struct {
	n, mean     float64
	q           float64 // weighted sum of the squared deviations from the mean
	sum, square float64 // of the weights
}

func (p pooled) with(x, variance float64) pooled {
	w := 1 / variance
	p.n, p.sum, p.square = p.n+1, p.sum+w, p.square+w*w
	d := x - p.mean
	p.mean += d * w / p.sum
	p.q += w * d * (x - p.mean)
	return p
}

// between is the variance by which the estimates differ beyond their own, by the moments of
// DerSimonian and Laird (1986).
func (p pooled) between() float64 { return max(0, (p.q-(p.n-1))/(p.sum-p.square/p.sum)) }

// value returns the correlation of neighbors, after the mean of each level has taken its share.
func (s neighbors) value() float64 {
	r := s.sum / s.n
	n := s.n / s.levels
	c := max(r, 0)
	for range 5 {
		c = min(max(1-(1-r)*(n-inflation(n, c))/(n-1), 0), mostAlike)
	}
	if r < 0 {
		return r
	}
	return c
}

// near returns the correlation of a key's neighbors by its own and those of the other keys.
func (s neighbors) near(o similar) float64 {
	if !o.known {
		return s.correlation(cautious)
	}
	r := o.mean
	if s.n > 0 {
		own := s.variance / (s.n * s.n)
		r += (s.value() - r) * o.between / (o.between + own)
	}
	return min(max(r, 0), mostAlike)
}

// ranksOf returns the ranks of the values, from 1 on; equal values share theirs.
func ranksOf(points []point) []float64 {
	x := make([]float64, len(points))
	for i, p := range points {
		x[i] = p.x
	}
	sorted := slices.Sorted(slices.Values(x))
	for i, v := range x {
		low, _ := slices.BinarySearch(sorted, v)
		high := low
		for high < len(sorted) && sorted[high] == v {
			high++
		}
		x[i] = float64(low+1+high) / 2
	}
	return x
}
