package history

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
)

// describe fills in the points, levels and changes.
func (h *KeyHistory) describe(d *detector, confidence float64) {
	points := d.points
	cuts := locate(d.list, d.clipped)
	for i := range cuts {
		cuts[i].culprits(confidence)
	}
	known, floor := past{}, points[len(points)-1].floor
	parts := split(points, cuts)
	segments := bounded(parts)
	var alike neighbors
	for i, part := range parts {
		known, alike = known.with(segments[i]), alike.with(part)
		h.Levels = append(h.Levels, Level{part[0].version, part[len(part)-1].version,
			exp(segments[i].mean)})
	}
	h.Autocorrelation = alike.correlation(certain)
	known.alike = h.Autocorrelation
	variance, quantile := known.variance(floor), 0.0
	if known.freedom > 0 {
		quantile = distuv.StudentsT{Sigma: 1, Nu: float64(known.freedom)}.Quantile((1 + confidence) / 2)
	}
	for _, p := range d.all {
		half := quantile * math.Sqrt(variance*(1/p.weight+p.offset*p.offset))
		h.Points = append(h.Points, Point{p.version, p.executions, exp(p.x), exp(p.x - half),
			exp(p.x + half), p.offset})
	}
	for i, c := range cuts {
		before, after := segments[i], segments[i+1]
		d, weight := contrast(before, after, known.alike, true)
		half := quantile * math.Sqrt(variance/weight)
		h.Changes = append(h.Changes, Change{
			Version: points[c.at].version, First: points[c.first-1].version + 1, Last: points[c.last].version,
			Found: points[c.when].version, LogE: c.logSum, Before: exp(after.mean - d),
			After: exp(after.mean),
			Ratio: exp(d), Low: exp(d - half), High: exp(d + half), group: c.group,
		})
	}
}

// promise fills in what could have been found.
func (h *KeyHistory) promise(d *detector) {
	if h.Autocorrelation == 0 {
		if h.Needed = d.needed(); h.Needed == 0 {
			h.Detectable = d.detectable()
		}
	}
}

// exp is finite, so that a document can be written.
func exp(x float64) float64 { return min(math.Exp(x), math.MaxFloat64) }

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

// detectable returns KeyHistory.Detectable: nights as some of the last level follow, with a
// slowdown, and the median of the smallest slowdowns that are found counts.
func (d *detector) detectable() float64 {
	const places, precision, least = 9, 0.02, 1e-4
	n := len(d.points) - d.begin
	last := d.points[len(d.points)-1]
	if n < within {
		return 0
	}
	var sizes []float64
	for s := len(d.points) - within; s >= d.begin; s -= max(1, (n-within)/places) {
		next := *d
		next.points = slices.Concat(d.points, d.points[s:s+within])
		for i := len(d.points); i < len(next.points); i++ {
			p := &next.points[i]
			p.version, p.threshold, p.floor = last.version, last.threshold, last.floor
		}
		low, high := least, math.Ln2
		if !next.finds(len(d.points), high) {
			sizes = append(sizes, math.Inf(1))
			continue
		}
		for high/low > 1+precision {
			if mid := math.Sqrt(low * high); next.finds(len(d.points), mid) {
				high = mid
			} else {
				low = mid
			}
		}
		sizes = append(sizes, math.Sqrt(low*high))
	}
	if size := arith.MedianOf(sizes); !math.IsInf(size, 1) {
		return math.Expm1(size)
	}
	return 0
}

// needed returns KeyHistory.Needed.
func (d *detector) needed() int {
	const most = 10_000
	n := len(d.points) - d.begin
	if n == 0 || best(n, within-1) >= d.points[len(d.points)-1].threshold {
		return 0
	}
	for n < most && best(n, within-1) < d.points[len(d.points)-1].threshold {
		n++
	}
	return n
}

// within is the number of versions after a change with which a detectable one is found.
const within = 5

// finds reports whether a slowdown of the points from s on would be found within five versions.
// size is that of the logarithm.
func (d *detector) finds(s int, size float64) bool { return d.delay(s, size, within) > 0 }

// delay returns with which version such a slowdown would be found; 0: with none of the first ones.
func (d *detector) delay(s int, size float64, versions int) int {
	replay := detector{points: slices.Clip(d.points[:s]), clipped: slices.Clip(d.clipped[:s]),
		earlier: d.earlier, alike: d.alike, others: d.others, begin: d.begin, from: d.from}
	for i, p := range d.points[s:min(len(d.points), s+versions)] {
		p.x += size
		if _, sum := replay.next(p); sum >= p.threshold {
			return i + 1
		}
	}
	return 0
}

// States are two groups into which a key's last executions of a level fall, in no order of time:
// the key has two states, and chance puts an execution, a night or a build into one of them.
type States struct {
	// Low and High are the geometric means of the groups, OfLow and OfHigh their executions.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	OfLow  int     `json:"of_low"`
	OfHigh int     `json:"of_high"`
}

// statesOf looks at the last level with enough executions to show states: see warmup.GroupsOf. What
// changes its state fewer than three times is a change that was not found, or one disturbance. Of
// many executions a rare state is seen, and of few one that is near: the ends of groups grow
// together.
func statesOf(levels []Level, values [][]float64) *States {
	const many, few, fewestRuns = 50, 20, 4
	for l := len(levels) - 1; l >= 0; l-- {
		var logs []float64 // the last one first
		for v := levels[l].To; v >= levels[l].From && len(logs) < many; v-- {
			for _, value := range slices.Backward(values[v]) {
				logs = append(logs, math.Log(value))
			}
		}
		if len(logs) < warmup.FewestGrouped {
			continue
		}
		for _, n := range []int{many, few} {
			logs = logs[:min(n, len(logs))]
			g, ok := warmup.GroupsOf(logs, warmup.LeastGroup)
			runs := 1
			for i := 1; i < len(logs); i++ {
				runs += arith.One(logs[i-1] > g.Middle != (logs[i] > g.Middle))
			}
			if ok && g.High-g.Low >= math.Log1p(warmup.Visible) && runs >= fewestRuns {
				return &States{exp(g.Low), exp(g.High), len(logs) - g.OfHigh, g.OfHigh}
			}
		}
		return nil
	}
	return nil
}

// Injected says how often a slowdown would have been found, had it been in the data.
type Injected struct {
	Size float64 `json:"size"` // 0.01: 1 % slower
	Keys int     `json:"keys"` // of which some place could be tried
	// Within are numbers of versions, the first one with the slowdown included.
	Within []InjectedWithin `json:"within"`
}

// InjectedWithin is the share of the places in which it would have been found.
type InjectedWithin struct {
	Versions int     `json:"versions"`
	Places   int     `json:"places"` // tried
	Found    float64 `json:"found"`
}

// Inject replays the last level of each key with a slowdown that begins at some of its versions, in
// that key alone: a positive control of the history and its data.
func Inject(versions []Version, keys []Key, size float64, o Options) *Injected {
	const places = 20
	r := &Injected{Size: size, Within: []InjectedWithin{{Versions: 3}, {Versions: 5}, {Versions: 10},
		{Versions: 20}}}
	h := newHistory(versions, o)
	for _, d := range h.detect(keys) {
		longest := r.Within[len(r.Within)-1].Versions
		first, tried := max(d.begin, d.from-1)+clipFewest, false
		step := max(1, (len(d.points)-first)/places)
		for s := first; s < len(d.points); s += step {
			delay := d.delay(s, math.Log1p(size), longest)
			for i := range r.Within {
				w := &r.Within[i]
				if s+w.Versions > len(d.points) {
					continue
				}
				tried = true
				w.Places++
				w.Found += float64(arith.One(delay > 0 && delay <= w.Versions))
			}
		}
		r.Keys += arith.One(tried)
	}
	for i := range r.Within {
		r.Within[i].Found /= float64(max(r.Within[i].Places, 1))
	}
	return r
}
