package history

import (
	"cmp"
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// group are the keys of a machine. What happens to the machine, or to a library that all keys use,
// shows in many keys at once, before it is certain in any of them.
//
// For each version s, the mean of the keys' e-values of a change at s is an e-value whatever the
// dependence between keys. Their sum over s is a Shiryaev-Roberts e-detector, as that of a key. Of
// the keys at the most probable s, those are listed that the e-BH procedure (Wang and Ramdas,
// JRSS-B 2022) rejects.
type group struct {
	keys      []*detector
	threshold float64 // of the logarithm of the sum

	from    int       // first version at which a change of the group is looked for
	changed int       // version of the last change of the group; 0: none
	grows   int       // version up to which keys join that change
	heights []float64 // shares of the keys in earlier nights: see disturbed
	sums    []float64 // of all keys, by version, that were compared with the threshold
}

// Bounds of a group.
const (
	fewestKeys  = 4   // of a group
	wrongKeys   = 0.1 // expected share of wrong keys in the list of a change
	growing     = 10  // versions after which no key joins a change of the group
	fewestSteps = 100 // nights before one can be said to be disturbed
)

// run looks at the versions one after the other. Those that were disturbed are in the evidence of
// no key.
func (g *group) run(versions int) {
	next := make([]int, len(g.keys))
	g.sums = make([]float64, versions)
	for v := range versions {
		var tonight []int
		for k, d := range g.keys {
			if next[k] < len(d.all) && d.all[next[k]].version == v {
				tonight = append(tonight, k)
			}
		}
		if len(g.keys) >= fewestKeys {
			g.compare()
		}
		skip := g.disturbed(tonight, next)
		for _, k := range tonight {
			p := g.keys[k].all[next[k]]
			next[k]++
			if skip && len(g.keys[k].points) > 0 {
				continue
			}
			if at, sum := g.keys[k].next(p); sum >= p.threshold {
				g.keys[k].change(at, sum)
			}
		}
		if len(g.keys) >= fewestKeys {
			g.look(v)
		}
	}
}

// compare tells each key how much neighboring versions of the machine's keys are alike. The latest
// are left out: what changes there is to be found.
func (g *group) compare() {
	var list []neighbors
	for _, d := range g.keys {
		end := max(d.begin, len(d.points)-growing)
		if s := d.alike.with(d.points[d.begin:end]); s.n > 0 {
			list = append(list, s)
		}
	}
	all := similarTo(list)
	for _, d := range g.keys {
		d.others = all
	}
}

// lower lowers the thresholds of the points to what the evidence of a key has to reach if that of
// the other keys is as it was: then the group finds the change. It is for replays after run.
func (g *group) lower() {
	if len(g.keys) < fewestKeys {
		return
	}
	n := float64(len(g.keys))
	for _, d := range g.keys {
		for i := range d.points {
			p := &d.points[i]
			p.threshold = min(p.threshold, math.Log(n*max(1, math.Exp(g.threshold)-g.sums[p.version])))
		}
	}
}

// evidence returns the logarithm of a key's e-value of a change at a version, and the point at
// which it would be. A change at a version that was not measured is one at the next.
func (d *detector) evidence(version int) (at int, e float64) {
	for _, p := range d.places {
		if d.points[p.at].version >= version && d.points[p.at-1].version < version {
			return p.at, p.e
		}
	}
	return 0, math.Inf(-1)
}

// look looks for a change of the group with what was measured up to a version.
func (g *group) look(v int) {
	const most = 500 // of a logarithm, so that sums are finite
	if v <= g.grows && g.changed > 0 {
		g.join(g.changed)
	}
	sums := make([]float64, v+2)
	for _, d := range g.keys {
		for _, p := range d.places {
			e := math.Exp(min(p.e, most)) / float64(len(g.keys))
			for s := max(d.points[p.at-1].version+1, g.from); s <= d.points[p.at].version; s++ {
				sums[s] += e
			}
		}
	}
	all, best := 0.0, 0
	for s, e := range sums {
		all += e
		if e > sums[best] {
			best = s
		}
	}
	g.sums[v] = all
	if all > 0 && math.Log(all) >= g.threshold {
		g.changed, g.from, g.grows = best, v+1, v+growing
		g.join(best)
	}
}

// join lets the keys change that e-BH lists for a change of the group at a version.
func (g *group) join(version int) {
	type candidate struct {
		d  *detector
		at int
		e  float64
	}
	var list []candidate
	joined := 0
	for _, d := range g.keys {
		if n := len(d.list); n > 0 && d.points[d.list[n-1].at].version == version {
			joined++
			continue
		}
		if at, e := d.evidence(version); at > 0 {
			list = append(list, candidate{d, at, e})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.e, a.e) })
	reject := 0
	for i, c := range list {
		if c.e >= math.Log(float64(len(g.keys))/(float64(joined+i+1)*wrongKeys)) {
			reject = i + 1
		}
	}
	for _, c := range list[:reject] {
		c.d.change(c.at, c.e)
		c.d.list[len(c.d.list)-1].group = version + 1
	}
}

// disturbed reports whether more keys are far from their level tonight, after what all have in
// common, than in any earlier night. Of n nights alike that is so in one, whatever the dependence
// between keys. It is decided before it is looked at which keys they are.
func (g *group) disturbed(tonight, next []int) bool {
	const (
		fewest = 8 // keys
		far    = 3 // standard deviations, by the median absolute deviation
	)
	var away, scale []float64
	for _, k := range tonight {
		d := g.keys[k]
		segment := d.points[max(d.begin, len(d.points)-clipMost):]
		if len(segment) < clipFewest {
			continue
		}
		values := make([]float64, len(segment))
		for i, p := range segment {
			values[i] = p.x
		}
		middle, sd := center(values)
		if sd == 0 {
			continue
		}
		away = append(away, g.keys[k].all[next[k]].x-middle)
		scale = append(scale, sd)
	}
	if len(away) < fewest {
		return false
	}
	common, height := arith.MedianOf(away), 0.0
	for i, x := range away {
		height += float64(arith.One(math.Abs(x-common) > far*scale[i])) / float64(len(away))
	}
	highest := len(g.heights) >= fewestSteps && height > slices.Max(g.heights)
	g.heights = append(g.heights, height)
	return highest
}
