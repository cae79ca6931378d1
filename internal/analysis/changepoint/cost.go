package changepoint

// cost is a segment cost C(s, t), the cost of the values with indexes s to
// t-1, together with the bound that lets whole groups of segments be skipped.
//
// The bound rests on superadditivity: a segment never fits better than its
// two parts fitted apart, C(s,t) >= C(s,u) + C(u,t) for s < u < t. It holds
// for exact numbers; rise subtracts what rounding can do to it.
type cost interface {
	// segment is C(s, t) as the reference implementation computes it.
	segment(s, t int) float64
	// atLeast is a lower bound on segment(s, t), close and cheap.
	atLeast(s, t int) float64
	// screen appends to out those candidates of list for which
	// f[s] + segment(s, t) + price might be at most limit.
	screen(out, list []int32, f []float64, t int, price, limit float64) []int32
	// admit says whether rise can bound segment (s, t) when it grows, and
	// notes in g what rise needs to know of it. g.at is t.
	admit(g *group, s int32) bool
	// rise is a lower bound, for every admitted member s of g, on how much
	// f[s] + segment(s, t) grows from g.at to t, given that |f| <= scale.
	// It may be -Inf.
	rise(g *group, t int, scale float64) float64
}

// group is a set of candidates last looked at together, at the prefix length
// at: none of them is worth less than least at that length, and none will be
// worth less than least + rise(group, t, ...) at t.
type group struct {
	members []int32
	at      int
	least   float64 // lower bound on f[s] + segment(s, at) + price over the members

	oldest int // the smallest s
	length int // the shortest segment, at - s

	// For normalCost: the smallest sum of squared deviations (plus floor),
	// and the range of the variances.
	spread, low, high float64
}
