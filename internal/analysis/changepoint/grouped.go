package changepoint

import (
	"math"
	"slices"
)

const (
	// recentLimit is the number of new candidates collected before they are grouped. shortest is
	// the least excess length of their segments over the minimum by then: bounds on very short
	// segments are too weak.
	recentLimit = 12
	shortest    = 2
	// smallGroup is the size below which a group is not split.
	smallGroup = 48
	// nearlyBest is the distance from the winner, in multiples of the penalty, within which a
	// candidate stays out of the groups.
	nearlyBest = 1.0 / 8
)

// grouped is the state of peltGrouped.
//
// It does not check whether R still has a candidate in its list until that candidate is about to
// win. Then alive replays R's pruning test for the prefixes since the candidate was last known to
// be in the list. A group is dropped only when R certainly prunes every member at this very t, and
// skipped when every member certainly loses at this t.
// skipped when every member certainly loses at this t.
type grouped struct {
	*solution
	cost    cost
	n       int
	minimum int

	recent  []int32 // the newest candidates, not yet in a group
	singles []int32 // older candidates that might soon win or that rise cannot bound
	groups  []*group
	opened  []*group // scratch of expand
	free    []*group // dropped, for reuse
	known   []int32  // known[s]: last prefix at which R is known to keep s
	dead    []bool   // R has pruned s
	scale   float64  // the largest |f| so far
	scratch []int32
	values  []float64 // of the candidates in scratch
}

// peltGrouped returns the same f and last as peltPlain, in nearly linear time even without changes.
//
// Old candidates are kept in groups. For a group last evaluated at u, and any member s,
// superadditivity gives
//
//	F(s) + C(s,t) + penalty >= least + C(u,t)
//
// so that one cost proves for all of them that they lose at t against the best candidate found so
// far. Without changes the left side exceeds the winner by about the penalty, and C(u,t) is close
// to the growth of the winner's own cost, so that groups are rarely expanded. Groups of similar
// size that have been skipped for long enough are merged (and evaluated again); a group that cannot
// be skipped is evaluated and split. There are about log n groups, and n log n evaluations.
func peltGrouped(c cost, n, minimum int, penalty float64) *solution {
	g := &grouped{
		solution: newSolution(c, n, minimum, penalty),
		cost:     c,
		n:        n,
		minimum:  minimum,
		recent:   []int32{0, int32(minimum)},
		known:    make([]int32, n+1),
		dead:     make([]bool, n+1),
		scale:    penalty,
	}
	for t := 2 * minimum; t <= n; t++ {
		g.step(t)
	}
	return g.solution
}

// winner is the best candidate found so far at some prefix.
type winner struct {
	s     int32
	value float64
}

func (g *grouped) value(s int32, t int) float64 {
	return g.f[s] + g.cost.segment(int(s), t) + g.penalty
}

// step computes f[t] and last[t].
func (g *grouped) step(t int) {
	w := winner{s: g.last[t-1]}
	w.value = g.value(w.s, t)
	limit := w.value + sumError*g.scale
	g.scratch = slices.Grow(g.scratch[:0], len(g.singles)+len(g.recent))
	for _, list := range [][]int32{g.singles, g.recent} {
		kept := g.cost.screen(g.scratch[len(g.scratch):cap(g.scratch)], list, g.f, t, g.penalty, limit)
		g.scratch = g.scratch[:len(g.scratch)+kept]
	}
	g.values = g.values[:0]
	incumbent := w
	for _, s := range g.scratch {
		v := incumbent.value
		if s != incumbent.s {
			v = g.value(s, t)
		}
		g.values = append(g.values, v)
		g.consider(&w, s, t, v)
	}
	g.expand(&w, t)
	g.f[t], g.last[t] = w.value, w.s
	g.known[w.s] = int32(t)
	g.scale = max(g.scale, w.value, -w.value)
	g.prune(t)
	g.recent = append(g.recent, int32(t-g.minimum+1))
	if len(g.recent) >= recentLimit+shortest+g.minimum {
		g.tidy(t)
	}
}

// prune removes those of the candidates evaluated in this step that R prunes, and records for the
// others that R has kept them. Where rounding decides, every candidate is evaluated in every step,
// and most are pruned soon.
func (g *grouped) prune(t int) {
	pruned := false
	for i, s := range g.scratch {
		if g.values[i] > g.f[t]+g.penalty {
			g.dead[s] = true
			pruned = true
		} else if g.unknown(s) == t {
			g.known[s] = int32(t)
		}
	}
	if pruned {
		isDead := func(s int32) bool { return g.dead[s] }
		g.singles = slices.DeleteFunc(g.singles, isDead)
		g.recent = slices.DeleteFunc(g.recent, isDead)
	}
}

// unknown returns the first prefix at which it is not known whether R keeps s.
func (g *grouped) unknown(s int32) int {
	return max(int(g.known[s])+1, int(s)+g.minimum, 2*g.minimum)
}

// consider makes s the winner if it is better, or as good and earlier, and R has not already pruned
// it.
func (g *grouped) consider(w *winner, s int32, t int, value float64) {
	if value > w.value || value == w.value && s >= w.s || !g.alive(s, t) {
		return
	}
	*w = winner{s, value}
}

// alive reports whether R still has candidate s at t.
func (g *grouped) alive(s int32, t int) bool {
	if g.dead[s] {
		return false
	}
	for u := g.unknown(s); u < t; u++ {
		if g.value(s, u) > g.f[u]+g.penalty {
			g.dead[s] = true
			return false
		}
	}
	g.known[s] = int32(t - 1)
	return true
}

// newSolution initializes the prefixes that are too short to be divided.
func newSolution(c cost, n, minimum int, penalty float64) *solution {
	s := &solution{penalty: penalty, f: make([]float64, n+1), last: make([]int32, n+1)}
	s.f[0] = -penalty
	for t := minimum; t < 2*minimum; t++ {
		s.f[t] = c.segment(0, t)
	}
	return s
}

// solution is a finished run: the optimal cost of every prefix and the start of its last segment.
type solution struct {
	penalty float64
	f       []float64
	last    []int32
}

// ends backtracks from n and returns the end of each segment, ascending, n included.
func (s *solution) ends() []int {
	count := 0
	for t := len(s.last) - 1; t > 0; t = int(s.last[t]) {
		count++
	}
	ends := make([]int, count)
	for t := len(s.last) - 1; t > 0; t = int(s.last[t]) {
		count--
		ends[count] = t
	}
	return ends
}

// expand considers the members of the groups that may hold the winner at t, and drops the groups
// that R prunes.
func (g *grouped) expand(w *winner, t int) {
	kept, opened := 0, g.opened[:0]
	for i, group := range g.groups {
		worth := group.worth(t)
		if worth <= w.value {
			group.renew(g.cost, t, g.n, g.scale)
			worth = group.worth(t)
		}
		switch {
		case worth > w.value+g.penalty: // at least f[t] + penalty: pruned, all of them
			g.free = append(g.free, group)
		case worth > w.value:
			if kept != i { // a pointer that is not written needs no write barrier
				g.groups[kept] = group
			}
			kept++
		default:
			opened = append(opened, group)
		}
	}
	g.groups = g.groups[:kept]
	if len(opened) == 0 {
		return
	}
	for _, group := range opened {
		for _, s := range group.members {
			g.consider(w, s, t, g.value(s, t))
		}
	}
	for _, group := range opened {
		g.regroup(group.members, t, w.value)
	}
	g.free = append(g.free, opened...)
	g.opened = opened
	g.sort()
}

// regroup measures candidates at t and makes one group of them, or two if there are many.
func (g *grouped) regroup(members []int32, t int, limit float64) {
	if len(members) > smallGroup {
		half := len(members) / 2
		g.form(members[:half], t, limit)
		g.form(members[half:], t, limit)
		return
	}
	g.form(members, t, limit)
}

// form makes a group of candidates. Those that R prunes at t are dropped: their value exceeds limit
// + penalty, where limit must not be below f[t]. Those that are nearly optimal, and those that
// cannot be bounded, stay out of the group.
func (g *grouped) form(members []int32, t int, limit float64) {
	n := g.newGroup(t)
	rounding := sumError * (g.scale + math.Abs(limit))
	for _, s := range members {
		if g.dead[s] {
			continue
		}
		least, m, ok := g.cost.measure(int(s), t)
		least += g.f[s] + g.penalty - rounding
		switch {
		case least > limit+g.penalty:
			g.dead[s] = true
		case !ok || least <= limit+g.penalty*nearlyBest:
			g.singles = append(g.singles, s)
		default:
			n.include(s, least, m)
		}
	}
	if len(n.members) == 0 {
		g.free = append(g.free, n)
		return
	}
	n.renew(g.cost, t, g.n, g.scale)
	g.groups = append(g.groups, n)
}

// newGroup returns an empty group, reusing a dropped one if possible.
func (g *grouped) newGroup(t int) *group {
	last := len(g.free) - 1
	if last < 0 {
		return &group{at: t}
	}
	n := g.free[last]
	g.free = g.free[:last]
	*n = group{at: t, members: n.members[:0]}
	return n
}

// sort orders the groups by their candidates.
func (g *grouped) sort() {
	slices.SortFunc(g.groups, func(a, b *group) int { return int(a.members[0] - b.members[0]) })
}

// tidy groups the recent candidates that are old enough and the single ones, and merges groups that
// are often skipped. f[t] is known.
func (g *grouped) tidy(t int) {
	ready := len(g.recent)
	for ready > 0 && int(g.recent[ready-1]) > t-g.minimum-shortest {
		ready--
	}
	ripe := append(g.scratch[:0], g.recent[:ready]...)
	g.recent = append(g.recent[:0], g.recent[ready:]...)
	ripe = append(ripe, g.singles...)
	g.scratch = ripe
	g.singles = g.singles[:0]
	g.form(ripe, t, g.f[t])
	g.sort()
	g.merge(t)
}

// merge joins the newest groups when there are four of similar size. Elsewhere it joins neighbors
// when the older one is not larger and both have been skipped for as many steps as measuring them
// costs.
func (g *grouped) merge(t int) {
	last := len(g.groups) - 1
	first, size := last, 0
	for first >= 0 && len(g.groups[first].members) <= size+recentLimit {
		size += len(g.groups[first].members)
		first--
	}
	first++
	if last-first >= 3 {
		g.join(first, last, t)
	}
	for i := min(first, len(g.groups)) - 1; i > 0; i = min(i, len(g.groups)) - 1 {
		a, b := g.groups[i-1], g.groups[i]
		if len(a.members) <= len(b.members) && t-max(a.at, b.at) >= len(a.members)+len(b.members) {
			g.join(i-1, i, t)
		}
	}
}

// join merges the groups first to last into one, without measuring their members again.
func (g *grouped) join(first, last, t int) {
	for _, group := range g.groups[first : last+1] {
		group.renew(g.cost, t, g.n, g.scale)
		if math.IsInf(group.bound.base, -1) {
			g.measure(first, last, t)
			return
		}
	}
	joined := g.newGroup(t)
	for _, group := range g.groups[first : last+1] {
		g.cost.advance(group, t)
		group.least, group.at = group.bound.base, t
		joined.widen(group)
		joined.members = append(joined.members, group.members...)
		g.free = append(g.free, group)
	}
	joined.renew(g.cost, t, g.n, g.scale)
	g.groups[first] = joined
	g.groups = slices.Delete(g.groups, first+1, last+1)
}

// measure makes one group of the groups first to last, which cannot be bounded.
func (g *grouped) measure(first, last, t int) {
	g.scratch = g.scratch[:0]
	for _, group := range g.groups[first : last+1] {
		g.scratch = append(g.scratch, group.members...)
		g.free = append(g.free, group)
	}
	before := len(g.groups)
	g.form(g.scratch, t, g.f[t])
	if joined := g.groups[before:]; len(joined) == 1 {
		g.groups[first] = joined[0]
		first++
	}
	g.groups = slices.Delete(g.groups[:before], first, last+1)
}
