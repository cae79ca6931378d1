package changepoint

import "slices"

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
