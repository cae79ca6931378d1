package changepoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// cost is a segment cost C(s, t), the cost of the values with indexes s to t-1, together with the
// bounds with which groups of segments can be skipped.
//
// The bounds rest on superadditivity: a segment never fits better than its two parts fitted
// separately, C(s,t) >= C(s,u) + C(u,t) for s < u < t. This holds for exact arithmetic; rise
// subtracts a bound on the rounding error.
type cost interface {
	// segment is C(s, t) as the reference implementation computes it.
	segment(s, t int) float64
	// screen copies to out, which is as long as list or longer, those candidates of list for which
	// f[s] + segment(s, t) + penalty might be at most limit, and returns their number.
	screen(out, list []int32, f []float64, t int, penalty, limit float64) int
	// measure returns a close and cheap lower bound on segment(s, t), and the properties of the
	// segment that rise needs. ok is false when rise could not bound it.
	measure(s, t int) (least float64, m spread, ok bool)
	// rise is a lower bound on the growth of f[s] + segment(s, ·) since g.at, for every member s of
	// g, at t and until the prefix length until, given that |f| <= scale up to t.
	rise(g *group, t, until int, scale float64) line
	// advance makes the spread of g, whose members were measured at g.at, that of its members at t.
	advance(g *group, t int)
}

// spread describes a segment: its length, its variance and the sum of its squared deviations. Costs
// that do not need it leave it zero.
type spread struct {
	length     int
	v, squares float64
}

// line is a lower bound that changes with time: after j more steps it is base + j slope − j² bend.
type line struct{ base, slope, bend float64 }

// nothing is the vacuous bound.
var nothing = line{base: math.Inf(-1)}

func (l line) after(steps int) float64 {
	j := float64(steps)
	return l.base + j*(l.slope-j*l.bend)
}

// group is a set of candidates. The value of each member was at least least at the prefix length
// at, and its segment had the properties below.
type group struct {
	members []int32
	at      int
	least   float64

	oldest    int // the smallest s
	length    int // the shortest segment, at - s
	squares   float64
	low, high float64 // a range of the variances

	// bound is below the value of every member from the length since until the length until.
	bound        line
	since, until int
}

// include adds a member that was measured at g.at and whose value is at least least.
func (g *group) include(s int32, least float64, m spread) {
	g.widen(&group{least: least, oldest: int(s), length: m.length, squares: m.squares, low: m.v, high: m.v})
	g.members = append(g.members, s)
}

// widen makes the bounds of g hold for the members of another group at the same length, too.
func (g *group) widen(by *group) {
	if len(g.members) == 0 {
		g.least, g.oldest, g.length, g.squares, g.low, g.high = by.least, by.oldest, by.length, by.squares,
			by.low, by.high
		return
	}
	g.least = min(g.least, by.least)
	g.oldest = min(g.oldest, by.oldest)
	g.length = min(g.length, by.length)
	g.squares = min(g.squares, by.squares)
	g.low = min(g.low, by.low)
	g.high = max(g.high, by.high)
}

// worth is a lower bound on the value of every member at t, from the line computed before.
func (g *group) worth(t int) float64 {
	if t > g.until {
		return math.Inf(-1)
	}
	return g.bound.after(t - g.since)
}

// renew recomputes the line starting at t.
func (g *group) renew(c cost, t, n int, scale float64) {
	const steps = 16 // minimum; larger groups change less
	until := min(n, t+max(steps, len(g.members)))
	g.bound = c.rise(g, t, until, scale)
	g.bound.base += g.least
	g.since, g.until = t, until
}

// meanCost is Mean: C = Σx² − (Σx)²/n (R: mll_mean; mbic_mean with perLength).
type meanCost struct {
	sums
	perLength bool
}

func (c *meanCost) segment(s, t int) float64 {
	n := float64(t - s)
	x := c.x[t] - c.x[s]
	value := c.xx[t] - c.xx[s] - float64(x*x)/n
	if c.perLength {
		value += arith.Log(n)
	}
	return value
}

// screen keeps every candidate: the cost itself is as cheap as a bound on it.
func (c *meanCost) screen(out, list []int32, _ []float64, _ int, _, _ float64) int {
	return copy(out, list)
}

func (c *meanCost) measure(s, t int) (least float64, m spread, ok bool) {
	return c.segment(s, t), spread{}, true
}

// rise is the cost of the added values alone, by superadditivity, less rounding. The cost of
// further values is bounded by 0.
func (c *meanCost) rise(g *group, t, until int, scale float64) line {
	own := 0.0
	if t > g.at {
		x := c.x[t] - c.x[g.at]
		own = c.xx[t] - c.xx[g.at] - float64(x*x)/float64(t-g.at)
	}
	slack := 4*differenceError*(c.xx[until]-c.xx[g.oldest]) + 2*c.noise(t,
		until) + sumError*(scale+c.xx[until]+largestLog)
	return line{base: own - slack}
}

func (c *meanCost) advance(*group, int) {}

// medianStep is the median of |x − y| for independent x, y of the standard normal distribution.
const medianStep = 0.9538725524

// overNoise divides a centered series by its noise: see Stable. A series in which half the steps
// are 0 is not scaled.
func overNoise(series []float64) []float64 {
	steps := make([]float64, len(series)-1)
	for i := range steps {
		steps[i] = math.Abs(series[i+1] - series[i])
	}
	slices.Sort(steps)
	noise := arith.Median(steps) / medianStep
	if !(noise > 0) {
		return series
	}
	scaled := make([]float64, len(series))
	for i, v := range series {
		scaled[i] = v / noise
	}
	return scaled
}

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
