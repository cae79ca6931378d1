package changepoint

import (
	"math"
	"slices"
)

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
