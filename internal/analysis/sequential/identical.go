package sequential

import (
	"math"
	"math/rand/v2"
	"slices"

	"krund/internal/analysis/compare"
)

// Identical is the verdict rule on tables of identical code, made from a recorded experiment: a
// verdict other than "same" is false.
type Identical struct {
	Tables int     `json:"tables"`
	False  int     `json:"false"` // with at least one false verdict, at any look
	Low    float64 `json:"low"`   // interval of the share, 95 %
	High   float64 `json:"high"`
}

// IdenticalOf replays the verdict rule after each block of random tables. In an experiment with
// arms, the values of each block are exchanged at random; else the executions of each key are drawn
// into pairs.
func IdenticalOf(groups []Group, p Policy, tables int, seed uint64) *Identical {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // reproducible
	out := &Identical{Tables: tables}
	for range tables {
		var table []Group
		for _, g := range groups {
			if pair, ok := identical(g, r); ok {
				table = append(table, pair)
			}
		}
		if p.anyFalse(table) {
			out.False++
		}
	}
	out.Low, out.High = compare.Binomial(out.False, tables, 0.95)
	return out
}

// anyFalse reports whether a look at a table of identical code finds a change.
func (p Policy) anyFalse(table []Group) bool {
	for _, g := range table {
		for n := p.Minimum; n <= len(g[0].Executions); n++ {
			cut := g.first(n)
			q := p.verdict(cut[0], cut[1], p.Alpha/float64(len(table)))
			if q.Low != nil && (*q.Low > 1 || *q.High < 1) {
				return true
			}
		}
	}
	return false
}

// identical makes two sides of a group that nothing distinguishes; ok is false if it has too few
// executions.
func identical(g Group, r *rand.Rand) (pair Group, ok bool) {
	var a, b []compare.Execution
	add := func(x, y compare.Execution) {
		if r.IntN(2) == 1 {
			x, y = y, x
		}
		x.Number, y.Number = len(a)+1, len(a)+1
		a, b = append(a, x), append(b, y)
	}
	if len(g) > 1 {
		for _, x := range g[0].Executions {
			same := func(y compare.Execution) bool { return y.Number == x.Number }
			i := slices.IndexFunc(g[1].Executions, same)
			if i >= 0 {
				add(x, g[1].Executions[i])
			}
		}
	} else {
		list := slices.Clone(g[0].Executions)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for i := 0; i+1 < len(list); i += 2 {
			add(list[i], list[i+1])
		}
	}
	for _, e := range slices.Concat(a, b) {
		if !(e.Value > 0) || math.IsInf(e.Value, 0) {
			return nil, false
		}
	}
	return Group{{Name: g[0].Name, Executions: a}, {Name: g[0].Name, Executions: b}}, len(a) > 1
}
