package changepoint

import (
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// Traini et al. (2023) look for the knee between these penalties, in multiples of log n, and fall
// back to the study's penalty.
const (
	cropsFrom    = 4
	cropsTo      = 100000
	cropsDefault = 15
	// samePenalty is the relative difference below which R's all.equal considers two penalties
	// equal.
	samePenalty = 1.5e-8
)

// PenaltyPoint is one step of the curve of the number of changepoints against the penalty: from
// Penalty up to the next point's, the optimal segmentation has that many changepoints.
type PenaltyPoint struct {
	Penalty      float64
	Changepoints int
}

// curve is what CROPS has found so far. R sorts the three columns independently, which gives the
// same result as sorting them together unless rounding makes the cost of a run with more
// changepoints higher.
type curve struct {
	penalties []float64 // ascending, each once
	segments  []int     // descending
	costs     []float64 // without the penalty of the changepoints, ascending
}

// crops finds every number of changepoints that is optimal at some penalty between from and to,
// with as few runs of PELT as possible (Haynes, Eckley and Fearnhead 2017; R: penalty="CROPS",
// range_of_penalties). Points ascend in penalty and descend in changepoints.
//
// Version 2.3 of R's package appends the upper bound as one more point, which distorts the knee.
// This is the list of 2.2.x, which Traini et al. used.
func (p *problem) crops(from, to float64) []PenaltyPoint {
	var c curve
	for next := []float64{from, to}; len(next) > 0; next = c.gaps() {
		for _, penalty := range next {
			s := p.solve(penalty)
			m := len(s.ends())
			c.penalties = append(c.penalties, penalty)
			c.segments = append(c.segments, m)
			c.costs = append(c.costs, s.f[p.n]-float64(float64(m-1)*penalty))
		}
		slices.Sort(c.penalties)
		c.penalties = slices.Compact(c.penalties)
		slices.SortFunc(c.segments, func(a, b int) int { return b - a })
		slices.Sort(c.costs)
	}
	return c.points()
}

// gaps returns the penalties to try next: for neighbors whose numbers of segments differ by more
// than one, the penalty at which both cost the same, unless it was tried already.
func (c *curve) gaps() []float64 {
	var next []float64
	for i := range len(c.penalties) - 1 {
		if m := c.segments[i] - c.segments[i+1]; m > 1 {
			penalty := float64((c.costs[i+1] - c.costs[i]) * (1 / float64(m)))
			if !c.tried(penalty) {
				next = append(next, penalty)
			}
		}
	}
	return next
}

// tried is R's isTRUE(all.equal(penalty, the nearest tried penalty)).
func (c *curve) tried(penalty float64) bool {
	nearest := math.Inf(1)
	for _, p := range c.penalties {
		nearest = min(nearest, math.Abs(penalty-p))
	}
	if penalty > samePenalty {
		nearest /= penalty
	}
	return nearest <= samePenalty
}

// points removes repeated numbers of segments and computes the penalty from which each is optimal.
func (c *curve) points() []PenaltyPoint {
	costs := c.costs[:0:0]
	var segments []int
	for i, m := range c.segments {
		if i == 0 || m != c.segments[i-1] {
			segments = append(segments, m)
			costs = append(costs, c.costs[i])
		}
	}
	points := make([]PenaltyPoint, len(segments))
	for k, m := range segments {
		points[k] = PenaltyPoint{c.penalties[0], m - 1}
		if k > 0 {
			points[k].Penalty = (costs[k-1] - costs[k]) / float64(m-segments[k-1])
		}
	}
	return points
}

// kneePenalty is the penalty at the knee of the curve (Traini et al. 2023).
func (p *problem) kneePenalty() float64 {
	logN := arith.Log(float64(p.n))
	points := p.crops(cropsFrom*logN, cropsTo*logN)
	if len(points) < 2 {
		return points[0].Penalty
	}
	if penalty, ok := Knee(points); ok && penalty != 0 {
		return penalty
	}
	return cropsDefault * logN
}

// Knee finds the penalty beyond which a larger penalty no longer reduces the number of changepoints
// much: the elbow of a convex decreasing curve by the Kneedle method (Satopää et al. 2011), as the
// Python package kneed 0.7.0 computes it with sensitivity 1 for points in descending order of
// penalty. ok is false when there is none.
//
// Given that order, kneed begins at the far end of the curve. A knee at the largest penalty ends
// its search without a result, and so does reaching the smallest one.
func Knee(points []PenaltyPoint) (penalty float64, ok bool) {
	n := len(points)
	if n < 2 {
		return 0, false
	}
	x, y := make([]float64, n), make([]float64, n)
	for i, p := range points {
		x[n-1-i], y[n-1-i] = p.Penalty, float64(p.Changepoints)
	}
	xs := unitInterval(x)
	d := unitInterval(y)
	top := slices.Max(d)
	for i := range d {
		d[i] = top - d[i] - xs[i]
	}
	at, ok := firstKnee(xs, d)
	if !ok {
		return 0, false
	}
	return x[at], true
}

// firstKnee returns the first local maximum of the difference curve d over xs after which d falls
// by more than the mean step of xs; after a local minimum it has to fall below 0.
func firstKnee(xs, d []float64) (at int, ok bool) {
	n := len(d)
	step := 0.0
	for i := 1; i < n; i++ {
		step += xs[i] - xs[i-1]
	}
	step = math.Abs(step / float64(n-1))
	threshold, found := 0.0, false
	for i := range d {
		isMax := d[i] >= d[max(i-1, 0)] && d[i] >= d[min(i+1, n-1)]
		if !found && !isMax {
			continue
		}
		if xs[i] == 1 || i+1 == n {
			return 0, false
		}
		if isMax {
			threshold, at, found = d[i]-step, i, true
		}
		if d[i] <= d[max(i-1, 0)] && d[i] <= d[min(i+1, n-1)] {
			threshold = 0
		}
		if d[i+1] < threshold {
			return at, true
		}
	}
	return 0, false
}

// unitInterval scales values to reach from 0 to 1.
func unitInterval(values []float64) []float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = (v - low) / (high - low)
	}
	return scaled
}
