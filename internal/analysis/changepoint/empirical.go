package changepoint

import (
	"cmp"
	"fmt"
	"slices"

	"krund/internal/analysis/arith"
)

// empiricalCost is EmpiricalDistribution: minus twice the log-likelihood of the segment's empirical
// distribution function at K quantiles of the whole series, closer together in the tails,
//
//	C = −2 log(2n−1)/K × Σ_k N (F_k log F_k + (1−F_k) log(1−F_k))
//
// n is the length of the series, N that of the segment, and F_k the share of the segment below the
// k-th quantile, values equal to it counted half (Haynes et al. 2017, equation 6; R:
// changepoint.np). With a = N F_k each term is h(a) + h(N−a) − h(N), h(a) = a log a, so that no
// logarithm is computed per segment.
type empiricalCost struct {
	k      int       // quantiles
	below  []int32   // below[t*k+i]: twice the number of the first t values below quantile i
	h      []float64 // h[j] = j/2 log(j/2)
	factor float64   // −2 log(2n−1)/K
}

func newEmpirical(series []float64, quantiles int) (*empiricalCost, error) {
	quantiles = cmp.Or(quantiles, DefaultQuantiles)
	if quantiles < 1 {
		return nil, fmt.Errorf("%d quantiles: %w", quantiles, ErrOptions)
	}
	n := len(series)
	quantiles = min(quantiles, n)
	c := &empiricalCost{
		k:      quantiles,
		below:  make([]int32, quantiles*(n+1)),
		h:      make([]float64, 2*n+1),
		factor: -2 * arith.Log(float64(2*n-1)) / float64(quantiles),
	}
	for j := 1; j < len(c.h); j++ {
		a := float64(j) / 2
		c.h[j] = a * arith.Log(a)
	}
	sorted := slices.Sorted(slices.Values(series))
	for k := range quantiles {
		c.countBelow(k, series, sorted[quantileIndex(k, quantiles, n)])
	}
	return c, nil
}

// quantileIndex is the position of the k-th of K quantiles among n sorted values, equally spaced on
// the logistic scale. When 2n−1 is a square (n = 5, 13, 25, 41, ...) the exact position would be an
// integer and rounding decides, so every operation is in R's order (changepoint.np: pK =
// (1+exp(c*yK))^-1).
func quantileIndex(k, quantiles, n int) int {
	y := -1 + (float64(2*(k+1))/float64(quantiles) - 1/float64(quantiles))
	p := 1 / (1 + arith.Exp(float64(-arith.Log(float64(2*n-1))*y)))
	return int(float64(float64(n-1)*p)+1) - 1
}

func (c *empiricalCost) countBelow(k int, series []float64, q float64) {
	count := int32(0)
	for i, v := range series {
		switch {
		case v < q:
			count += 2
		case v == q:
			count++
		}
		c.below[(i+1)*c.k+k] = count
	}
}

func (c *empiricalCost) segment(s, t int) float64 {
	n := int32(2 * (t - s))
	before := c.below[s*c.k:][:c.k]
	sum := 0.0
	for k, until := range c.below[t*c.k:][:c.k] {
		a := until - before[k]
		sum += c.h[a] + c.h[n-a] - c.h[n]
	}
	return float64(c.factor * sum)
}

// screen keeps every candidate.
func (c *empiricalCost) screen(out, list []int32, _ []float64, _ int, _, _ float64) int {
	return copy(out, list)
}

func (c *empiricalCost) measure(s, t int) (least float64, m spread, ok bool) {
	return c.segment(s, t), spread{}, true
}

// rise is the cost of the added values alone, by superadditivity, less rounding. The cost of
// further values is bounded by 0.
func (c *empiricalCost) rise(g *group, t, until int, scale float64) line {
	own := 0.0
	if t > g.at {
		own = c.segment(g.at, t)
	}
	longest := c.h[min(2*(until-g.oldest), len(c.h)-1)] * -c.factor * float64(c.k)
	return line{base: own - sumError*(scale+16*longest+16)}
}

func (c *empiricalCost) advance(*group, int) {}
