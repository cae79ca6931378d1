package warmup

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
)

// Groups are two groups into which the executions of a key fall: the program has two states, and
// chance puts an execution into one of them.
type Groups struct {
	Low    float64 // mean of the lower group
	High   float64
	Middle float64 // of the gap between them
	OfHigh int     // values of the higher group
}

const (
	// FarApart is the gap between two groups, in standard deviations within them, from which on
	// they count as two. 0.3 % of all 10 normal values have such a gap, 1 % of 8 and 3.5 % of 6; of
	// 10 values of two states that are 10 standard deviations apart 90 % have it.
	FarApart = 5
	// LeastGroup is the number of values of a group: a single one is an outlier.
	LeastGroup = 2
	// FewestGrouped is the number of values of one kind in which groups are looked for.
	FewestGrouped = 8
	// Visible is how far apart groups must be to be reported, relative to the lower one, as changes
	// are.
	Visible = 0.01
)

// GroupsOf splits values, which are logarithms, at the largest gap that leaves least on either
// side; ok reports whether that is so wide that they are two groups. The values of a coarse clock
// are no groups: the variance within is at least that of rounding.
func GroupsOf(values []float64, least int) (g Groups, ok bool) {
	x := slices.Sorted(slices.Values(values))
	cut, gap, tick := 0, 0.0, math.Inf(1)
	for i := 1; i < len(x); i++ {
		d := x[i] - x[i-1]
		if d > 0 {
			tick = min(tick, d)
		}
		if d > gap && i >= least && i <= len(x)-least {
			cut, gap = i, d
		}
	}
	if cut == 0 {
		return g, false
	}
	g = Groups{arith.Mean(x[:cut]), arith.Mean(x[cut:]), (x[cut-1] + x[cut]) / 2, len(x) - cut}
	squares := 0.0
	for i, v := range x {
		center := g.Low
		if i >= cut {
			center = g.High
		}
		squares += (v - center) * (v - center)
	}
	return g, gap > FarApart*math.Sqrt(max(squares/float64(len(x)-2), tick*tick/12))
}

const distant = 0.1 // Visible of few levels

// groupsText describes the two groups into which the levels of a pair's executions fall; "" if they
// do not, or if there are few, or executions of several machines.
func (w *prepared) groupsText() string {
	for i := range w.pair.Executions {
		if w.pair.Executions[i].Machine != w.pair.Executions[0].Machine {
			return ""
		}
	}
	return GroupsText(logs(&w.result), FewestGrouped)
}

// GroupsText describes the two groups into which the logarithms of levels fall; "" if they do not,
// or if there are fewer than fewest. Of fewer than FewestGrouped levels a single one may be a
// group, if it is at least 10 % away, which noise seldom is.
func GroupsText(levels []float64, fewest int) string {
	least, far := LeastGroup, math.Log1p(Visible)
	if len(levels) < FewestGrouped {
		least, far = 1, math.Log1p(distant)
	}
	g, ok := GroupsOf(levels, least)
	if !ok || len(levels) < fewest || g.High-g.Low < far {
		return ""
	}
	return fmt.Sprintf("the executions fall into two groups: %d of %d take %.3g %% longer than the others; "+
		"no typical execution lies between them, and a few executions do not show the share of either: "+
		"compare it in blocks or with at least 10 executions on each side", g.OfHigh, len(levels),
		100*math.Expm1(g.High-g.Low))
}
