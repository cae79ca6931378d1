package history

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// describe fills in the points, levels and changes from the changes that were found.
func (h *KeyHistory) describe(points []point, list []found, confidence float64) {
	cuts := locate(points, list, confidence)
	all, floor := past{}, points[len(points)-1].floor
	segments := make([]moments, len(cuts)+1)
	begin := 0
	for i := range segments {
		end := len(points)
		if i < len(cuts) {
			end = cuts[i].at
		}
		segments[i] = sumOf(points[begin:end])
		all = all.with(segments[i])
		h.Levels = append(h.Levels, Level{points[begin].version, points[end-1].version,
			math.Exp(segments[i].mean)})
		begin = end
	}
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
		half := quantile * math.Sqrt(variance*(1/before.weight+1/after.weight))
		d := after.mean - before.mean
		h.Changes = append(h.Changes, Change{
			Version: points[c.at].version, First: points[c.first].version, Last: points[c.last].version,
			Found: points[c.when].version, LogE: c.logSum, Before: math.Exp(before.mean),
			After: math.Exp(after.mean), Ratio: math.Exp(d), Low: math.Exp(d - half), High: math.Exp(d + half),
		})
	}
	h.Detectable = detectable(all, segments[len(cuts)], points[len(points)-1])
}

// cut is a change with the points at which it may have happened.
type cut struct {
	found
	first, last int
}

// locate returns the changes with their most probable points, by all points between the changes
// before and after. The points at which a change may have happened are those with the largest
// e-values, until their share of the sum is the confidence: a credible set with a uniform prior.
func locate(points []point, list []found, confidence float64) []cut {
	cuts := make([]cut, len(list))
	for i, f := range list {
		cuts[i] = cut{found: f}
	}
	const rounds = 2 // a change that moves changes the data of its neighbors
	for range rounds {
		for i := range cuts {
			c := &cuts[i]
			begin, end := 0, len(points)
			if i > 0 {
				begin = cuts[i-1].at
			}
			if i+1 < len(cuts) {
				end = cuts[i+1].at
			}
			c.place(points, begin, end, confidence)
		}
	}
	return cuts
}

// place finds where between begin and end a change happened.
func (c *cut) place(points []point, begin, end int, confidence float64) {
	floor := points[len(points)-1].floor
	before, after := moments{}, sumOf(points[begin:end])
	type place struct {
		at int
		e  float64
	}
	var places []place
	sum := math.Inf(-1)
	for s := begin + 1; s < min(end, c.when); s++ {
		before, after = before.with(points[s-1]), after.without(points[s-1])
		e := logE(past{}, before, after, floor)
		places, sum = append(places, place{s, e}), logAdd(sum, e)
	}
	if len(places) == 0 {
		c.first, c.last = c.at, c.at
		return
	}
	slices.SortStableFunc(places, func(a, b place) int {
		switch {
		case a.e > b.e:
			return -1
		case a.e < b.e:
			return 1
		}
		return 0
	})
	c.at, c.first, c.last = places[0].at, places[0].at, places[0].at
	share := 0.0
	for _, p := range places {
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
