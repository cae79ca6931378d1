package changepoint

import "math"

// cost is a segment cost C(s, t), the cost of the values with indexes s to t-1, together with the
// bounds with which groups of segments can be skipped.
//
// The bounds rest on superadditivity: a segment never fits better than its two parts fitted
// separately, C(s,t) >= C(s,u) + C(u,t) for s < u < t. This holds for exact arithmetic; rise
// subtracts a bound on the rounding error.
type cost interface {
	// segment is C(s, t) as the reference implementation computes it.
	segment(s, t int) float64
	// screen copies to out, which is as long as list or longer, those candidates of list for which
	// f[s] + segment(s, t) + penalty might be at most limit, and returns their number.
	screen(out, list []int32, f []float64, t int, penalty, limit float64) int
	// measure returns a close and cheap lower bound on segment(s, t), and the properties of the
	// segment that rise needs. ok is false when rise could not bound it.
	measure(s, t int) (least float64, m spread, ok bool)
	// rise is a lower bound on the growth of f[s] + segment(s, ·) since g.at, for every member s of
	// g, at t and until the prefix length until, given that |f| <= scale up to t.
	rise(g *group, t, until int, scale float64) line
	// advance makes the spread of g, whose members were measured at g.at, that of its members at t.
	advance(g *group, t int)
}

// spread describes a segment: its length, its variance and the sum of its squared deviations. Costs
// that do not need it leave it zero.
type spread struct {
	length     int
	v, squares float64
}

// line is a lower bound that changes with time: after j more steps it is base + j slope − j² bend.
type line struct{ base, slope, bend float64 }

// nothing is the vacuous bound.
var nothing = line{base: math.Inf(-1)}

func (l line) after(steps int) float64 {
	j := float64(steps)
	return l.base + j*(l.slope-j*l.bend)
}

// group is a set of candidates. The value of each member was at least least at the prefix length
// at, and its segment had the properties below.
type group struct {
	members []int32
	at      int
	least   float64

	oldest    int // the smallest s
	length    int // the shortest segment, at - s
	squares   float64
	low, high float64 // a range of the variances

	// bound is below the value of every member from the length since until the length until.
	bound        line
	since, until int
}

// include adds a member that was measured at g.at and whose value is at least least.
func (g *group) include(s int32, least float64, m spread) {
	g.widen(&group{least: least, oldest: int(s), length: m.length, squares: m.squares, low: m.v, high: m.v})
	g.members = append(g.members, s)
}

// widen makes the bounds of g hold for the members of another group at the same length, too.
func (g *group) widen(by *group) {
	if len(g.members) == 0 {
		g.least, g.oldest, g.length, g.squares, g.low, g.high = by.least, by.oldest, by.length, by.squares,
			by.low, by.high
		return
	}
	g.least = min(g.least, by.least)
	g.oldest = min(g.oldest, by.oldest)
	g.length = min(g.length, by.length)
	g.squares = min(g.squares, by.squares)
	g.low = min(g.low, by.low)
	g.high = max(g.high, by.high)
}

// worth is a lower bound on the value of every member at t, from the line computed before.
func (g *group) worth(t int) float64 {
	if t > g.until {
		return math.Inf(-1)
	}
	return g.bound.after(t - g.since)
}

// renew recomputes the line starting at t.
func (g *group) renew(c cost, t, n int, scale float64) {
	const steps = 16 // minimum; larger groups change less
	until := min(n, t+max(steps, len(g.members)))
	g.bound = c.rise(g, t, until, scale)
	g.bound.base += g.least
	g.since, g.until = t, until
}
