package changepoint

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

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
