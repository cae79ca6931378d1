package changepoint

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// Traini et al. (2023) look for the knee between these prices, in log n, and
// fall back on the study's.
const (
	cropsFrom    = 4
	cropsTo      = 100000
	cropsDefault = 15
	// samePrice is the relative difference below which R's all.equal takes
	// two prices for the same.
	samePrice = 1.5e-8
)

// PricePoint is one step of the curve of changepoints over price: from Price
// on (up to the next point's) the best segmentation has that many changepoints.
type PricePoint struct {
	Price        float64
	Changepoints int
}

// curve is what CROPS has found so far. R keeps the three columns sorted
// apart from each other, which is the same as together unless rounding makes
// a dearer run cheaper.
type curve struct {
	prices   []float64 // ascending, each once
	segments []int     // descending
	costs    []float64 // without the price of the changepoints, ascending
}

// crops finds every number of changepoints that is best at some price between from and to, by running
// PELT at as few prices as needed (Haynes, Eckley and Fearnhead 2017; R: penalty="CROPS",
// range_of_penalties). Points ascend in price and descend in changepoints.
//
// Version 2.3 of R's package appends the upper bound as one more point, which spoils the knee; this
// is the list of 2.2.x, which Traini et al. used.
func (p *problem) crops(from, to float64) []PricePoint {
	var c curve
	for next := []float64{from, to}; len(next) > 0; next = c.gaps() {
		for _, price := range next {
			s := p.solve(price)
			m := len(s.ends())
			c.prices = append(c.prices, price)
			c.segments = append(c.segments, m)
			c.costs = append(c.costs, s.f[p.n]-float64(float64(m-1)*price))
		}
		slices.Sort(c.prices)
		c.prices = slices.Compact(c.prices)
		slices.SortFunc(c.segments, func(a, b int) int { return b - a })
		slices.Sort(c.costs)
	}
	return c.points()
}

// gaps are the prices to try next: between neighbours whose numbers of
// segments differ by more than one, the price at which both cost the same,
// unless that was tried.
func (c *curve) gaps() []float64 {
	var next []float64
	for i := range len(c.prices) - 1 {
		if m := c.segments[i] - c.segments[i+1]; m > 1 {
			price := float64((c.costs[i+1] - c.costs[i]) * (1 / float64(m)))
			if !c.tried(price) {
				next = append(next, price)
			}
		}
	}
	return next
}

// tried is R's isTRUE(all.equal(price, the nearest tried price)).
func (c *curve) tried(price float64) bool {
	nearest := math.Inf(1)
	for _, p := range c.prices {
		nearest = min(nearest, math.Abs(price-p))
	}
	if price > samePrice {
		nearest /= price
	}
	return nearest <= samePrice
}

// points leaves out repeated numbers of segments and computes where each
// begins to be best.
func (c *curve) points() []PricePoint {
	costs := c.costs[:0:0]
	var segments []int
	for i, m := range c.segments {
		if i == 0 || m != c.segments[i-1] {
			segments = append(segments, m)
			costs = append(costs, c.costs[i])
		}
	}
	points := make([]PricePoint, len(segments))
	for k, m := range segments {
		points[k] = PricePoint{c.prices[0], m - 1}
		if k > 0 {
			points[k].Price = (costs[k-1] - costs[k]) / float64(m-segments[k-1])
		}
	}
	return points
}

// kneePrice is the price at the knee of the curve (Traini et al. 2023).
func (p *problem) kneePrice() (float64, error) {
	logN := arith.Log(float64(p.n))
	points := p.crops(cropsFrom*logN, cropsTo*logN)
	if len(points) < 2 {
		return points[0].Price, nil
	}
	if price, ok := Knee(points); ok && price != 0 {
		return price, nil
	}
	return cropsDefault * logN, nil
}
