package changepoint

import "krund/internal/analysis/arith"

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

func (c *meanCost) atLeast(s, t int) float64 { return c.segment(s, t) }

// screen keeps everything: the cost itself is as cheap as a bound on it.
func (c *meanCost) screen(out, list []int32, _ []float64, _ int, _, _ float64) []int32 {
	return append(out, list...)
}

func (c *meanCost) admit(g *group, s int32) bool {
	if g.length == 0 || int(s) < g.oldest {
		g.oldest = int(s)
	}
	g.length = 1
	return true
}

// rise is the added values' own cost, by superadditivity, less rounding.
func (c *meanCost) rise(g *group, t int, scale float64) float64 {
	x := c.x[t] - c.x[g.at]
	own := c.xx[t] - c.xx[g.at] - x*x/float64(t-g.at)
	return own - 4*differenceError*(c.xx[t]-c.xx[g.oldest]) - sumError*(scale+largestLog)
}
