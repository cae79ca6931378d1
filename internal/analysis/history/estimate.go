package history

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// describe fills in the points, levels and changes.
func (h *KeyHistory) describe(points []point, confidence float64) {
	cuts := locate(run(points))
	for i := range cuts {
		cuts[i].culprits(confidence)
	}
	all, floor := past{}, points[len(points)-1].floor
	parts := split(points, cuts)
	segments := bounded(parts)
	var alike neighbors
	for i, part := range parts {
		all, alike = all.with(segments[i]), alike.with(part)
		h.Levels = append(h.Levels, Level{part[0].version, part[len(part)-1].version,
			math.Exp(segments[i].mean)})
	}
	h.Autocorrelation = alike.correlation(certain)
	all.excess = excess(h.Autocorrelation)
	variance, quantile := all.variance(floor), 0.0
	if all.freedom > 0 {
		quantile = distuv.StudentsT{Sigma: 1, Nu: float64(all.freedom)}.Quantile((1 + confidence) / 2)
	}
	for _, p := range points {
		half := quantile * math.Sqrt(variance/p.weight)
		h.Points = append(h.Points, Point{p.version, p.executions, math.Exp(p.x), math.Exp(p.x - half),
			math.Exp(p.x + half)})
	}
	for i, c := range cuts {
		before, after := segments[i], segments[i+1]
		half := quantile * math.Sqrt(variance*(1+all.excess)*(1/before.weight+1/after.weight))
		d := after.mean - before.mean
		h.Changes = append(h.Changes, Change{
			Version: points[c.at].version, First: points[c.first-1].version + 1, Last: points[c.last].version,
			Found: points[c.when].version, LogE: c.logSum, Before: math.Exp(before.mean),
			After: math.Exp(after.mean),
			Ratio: math.Exp(d), Low: math.Exp(d - half), High: math.Exp(d + half),
		})
	}
	h.Detectable = detectable(all, segments[len(cuts)], points[len(points)-1])
}

// split returns the points of each level.
func split(points []point, cuts []cut) [][]point {
	var parts [][]point
	begin := 0
	for _, c := range cuts {
		parts = append(parts, points[begin:c.at])
		begin = c.at
	}
	return append(parts, points[begin:])
}

// bounded returns the moments of levels whose points are bounded by each other: see clip. If that
// concerns more than one in 20 points, they are not versions that were disturbed but a second state
// of the key, which belongs to its level: then no point is bounded.
func bounded(parts [][]point) []moments {
	const most = 20
	list, raw := make([]moments, len(parts)), make([]moments, len(parts))
	far, n := 0, 0
	for i, part := range parts {
		for _, p := range part {
			raw[i] = raw[i].with(p)
			x := clip(part, p)
			if x != p.x {
				far++
			}
			p.x = x
			list[i] = list[i].with(p)
			n++
		}
	}
	if far*most > n {
		return raw
	}
	return list
}

// cut is a change with where it may have happened.
type cut struct {
	found
	first, last int // points
	places      []place
}

// place is a point at which a change may have happened, with the logarithm of its e-value.
type place struct {
	at int
	e  float64
}

// locate returns the changes with their most probable points, by all points between the changes
// before and after.
func locate(list []found, points []point) []cut {
	cuts := make([]cut, len(list))
	for i, f := range list {
		cuts[i] = cut{found: f}
	}
	const rounds = 2 // a change that moves changes the data of its neighbors
	for range rounds {
		for i := range cuts {
			begin, end := 0, len(points)
			if i > 0 {
				begin = cuts[i-1].at
			}
			if i+1 < len(cuts) {
				end = cuts[i+1].at
			}
			cuts[i].place(points, begin, end)
		}
	}
	return cuts
}

// place finds where between begin and end a change happened; not after it was found.
func (c *cut) place(points []point, begin, end int) {
	floor := points[len(points)-1].floor
	before, after := moments{}, sumOf(points[begin:end])
	c.places = nil
	for s := begin + 1; s < min(end, c.when); s++ {
		before, after = before.with(points[s-1]), after.without(points[s-1])
		c.places = append(c.places, place{s, logE(past{}, before, after, floor)})
	}
	slices.SortStableFunc(c.places, func(a, b place) int { return cmp.Compare(b.e, a.e) })
	if len(c.places) > 0 {
		c.at = c.places[0].at
	}
}

// culprits fills in the points at which the change may have happened: those with the largest
// e-values, until their share of the sum is the confidence. That is a credible set with a uniform
// prior.
func (c *cut) culprits(confidence float64) {
	c.first, c.last = c.at, c.at
	sum := math.Inf(-1)
	for _, p := range c.places {
		sum = logAdd(sum, p.e)
	}
	share := 0.0
	for _, p := range c.places {
		if share >= confidence {
			break
		}
		share += math.Exp(p.e - sum)
		c.first, c.last = min(c.first, p.at), max(c.last, p.at)
	}
}

// detectable returns KeyHistory.Detectable: the smallest change of five noiseless versions that
// reaches the threshold without one of them.
func detectable(all past, level moments, last point) float64 {
	const versions = 4
	if best(level.n+versions+1, versions+1) < last.threshold {
		return 0
	}
	found := func(d float64) bool {
		var after moments
		for range versions {
			after = after.with(point{x: level.mean + d, weight: last.weight})
		}
		after.noise = all.noise / float64(all.n) * versions
		rest := all
		rest.freedom, rest.n = all.freedom-max(level.n-1, 0), all.n-level.n
		rest.square, rest.noise = all.square-level.square, all.noise-level.noise
		return logE(rest, level, after, last.floor) >= last.threshold
	}
	low, high := 0.0, 1.0
	if !found(high) {
		return 0
	}
	for range 40 {
		if mid := (low + high) / 2; found(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return math.Expm1(high)
}
