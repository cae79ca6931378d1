package compare

// This file keeps two states of executions from making verdicts. A t test takes the spread of a few
// executions for that of all: if three of one side are by chance in one state, and three of the
// other side in the other, it sees a change and hardly any noise. Start at [guard].

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/warmup"
)

// States are two groups into which the executions of a key fall.
type States struct {
	// Low and High are the geometric means of the groups, in the unit of the result, and Before and
	// After the numbers of each side's executions in the lower and in the higher one; null when
	// paired.
	Low    warmup.Real `json:"low"`
	High   warmup.Real `json:"high"`
	Before []int       `json:"before"`
	After  []int       `json:"after"`
	// Jump is how far the groups are apart: 0.05 is 5 %. When paired, it is the difference in the
	// blocks whose executions are in different groups: Up of them, where after takes longer, and
	// Down.
	Jump warmup.Real `json:"jump"`
	Up   int         `json:"up"`
	Down int         `json:"down"`
	// Apart: each side has one group alone, as it would after a change; other keys of the table
	// have two.
	Apart bool `json:"apart"`
	// P is the p-value of these numbers, by Fisher's exact test, or by the sign test when paired.
	// That of the change is not smaller. Raised: by its own test it would be.
	P      float64 `json:"p"`
	Raised bool    `json:"raised"`
}

// guard finds the keys whose executions have two states, and raises their p-values to those of the
// numbers of executions in each state, which any two states have. copies are the executions of a
// null arm, by key; nil without one.
//
// A key of which each side has one group alone looks like one that has changed. It is taken for two
// states if so many other keys of the table show theirs that one of them may be such a key by
// chance.
func guard(list []estimate, samples []sample, copies [][]Observation, paired bool, o Options) []*States {
	const (
		least    = 2    // keys that show states
		seem     = 0.05 // share of normal keys that seem to, with few executions: 3.5 %, of 3 blocks 5.6 %
		byChance = 0.02 // expected number of keys that two states alone split between the sides
	)
	seeming := seem * float64(len(list))
	enough := max(least, int(seeming+2*math.Sqrt(seeming)))
	found := make([]*States, len(list))
	shown, chance := 0, 0.0
	for i := range list {
		e := &list[i]
		if !e.ok || e.linear {
			continue
		}
		var copied []Observation
		if copies != nil {
			copied = copies[i]
		}
		if found[i] = e.states(samples[i], copied, paired, o); found[i] != nil && !found[i].Apart {
			shown++
			chance += math.Ldexp(1, 1-e.n-e.m) // 50:50, all of a side in one state
		}
	}
	suspect := shown >= enough && chance >= byChance
	for i, s := range found {
		if s == nil {
			continue
		}
		if s.Apart && !suspect {
			found[i] = nil
			continue
		}
		s.Raised = list[i].atLeast(s.P)
	}
	return found
}

// atLeast raises the p-value to p by a larger variance, so that the interval agrees, and reports
// whether it was smaller.
func (e *estimate) atLeast(p float64) bool {
	const most = 0.5 // no verdict at any confidence; 1 would need an infinite variance
	p = min(p, most)
	if e.p() >= p {
		return false
	}
	times := math.Abs(e.effect()) / (quantileOf(p/2, e.freedom) * math.Sqrt(e.factor))
	e.variance = times * times
	return true
}

// states returns the groups of a key's executions; nil if there are none, or if they are less than
// the margin apart, so that they make no verdict.
func (e *estimate) states(s sample, copied []Observation, paired bool, o Options) *States {
	if paired {
		return e.pairedStates(s, copied, o)
	}
	if len(s.machines()) > 1 {
		return nil // their levels differ
	}
	x, y := e.scaled(s.before), e.scaled(s.after)
	g, ok := warmup.GroupsOf(slices.Concat(x, y), warmup.LeastGroup)
	if !ok {
		ok = grouped(x) || grouped(y)
	}
	if len(copied) > 0 && all(copied, func(o Observation) bool { return o.Value > 0 }) {
		ok = ok || grouped(slices.Concat(x, e.scaled(copied)))
	}
	if !ok || g.High-g.Low < e.margin(o.Margin) || apart(x, y, g.Middle) {
		return nil
	}
	in := func(values []float64) []int {
		high := 0
		for _, v := range values {
			high += arith.One(v > g.Middle)
		}
		return []int{len(values) - high, high}
	}
	t := &States{Low: warmup.Real(math.Exp(g.Low)), High: warmup.Real(math.Exp(g.High)), Before: in(x),
		After: in(y), Jump: warmup.Real(math.Expm1(g.High - g.Low))}
	t.P, _ = exactTest(t.Before, t.After)
	alone := t.Before[0]*t.Before[1] == 0 && t.After[0]*t.After[1] == 0
	t.Apart = alone && !grouped(x) && !grouped(y)
	return t
}

// apart reports whether the sides differ within a group as widely as groups do: then two states do
// not explain the key. An outlier before that happens to lie near all of after is no state.
func apart(x, y []float64, middle float64) bool {
	const enough = 5 // values, of which one can be told from the others
	for _, high := range []bool{false, true} {
		other := func(v float64) bool { return v > middle != high }
		a, b := slices.DeleteFunc(slices.Clone(x), other), slices.DeleteFunc(slices.Clone(y), other)
		if len(a) == 0 || len(b) == 0 || len(a)+len(b) < enough {
			continue
		}
		g, ok := warmup.GroupsOf(slices.Concat(a, b), 1)
		if ok && (slices.Max(a) < g.Middle && slices.Min(b) > g.Middle ||
			slices.Max(b) < g.Middle && slices.Min(a) > g.Middle) {
			return true
		}
	}
	return false
}

// grouped reports whether enough values of one kind fall into groups.
func grouped(values []float64) bool {
	_, ok := warmup.GroupsOf(values, warmup.LeastGroup)
	return ok && len(values) >= warmup.FewestGrouped
}

// pairedStates does it with the differences within blocks. Two states of executions make three of
// differences: about none, and one of the same size in either direction.
func (e *estimate) pairedStates(s sample, copied []Observation, o Options) *States {
	j, ok := jumpsOf(e.differences(s))
	none := warmup.Real(math.NaN())
	t := &States{Low: none, High: none, Jump: warmup.Real(math.Expm1(j.size)), Up: j.up, Down: j.down,
		P: signTest(j.up, j.down), Apart: j.oneWay()}
	if len(copied) > 0 && all(copied, func(o Observation) bool { return o.Value > 0 }) {
		if null, is := jumpsOf(e.differences(sample{s.before, copied})); is && !null.oneWay() {
			ok, t.Apart = true, false
		}
	}
	if !ok || j.size < e.margin(o.Margin) {
		return nil
	}
	return t
}

// jumps are the blocks whose executions are in different states.
type jumps struct {
	blocks, up, down int
	size             float64 // mean, in either direction
}

// oneWay reports whether all blocks differ alike, as after a change.
func (j jumps) oneWay() bool { return j.up == j.blocks || j.down == j.blocks }

// jumpsOf splits differences at the largest gap between their sizes that leaves two of them above
// it; ok reports whether it is as wide as one between groups.
func jumpsOf(differences []float64) (j jumps, ok bool) {
	const least = 2
	sizes := make([]float64, len(differences))
	for i, d := range differences {
		sizes[i] = math.Abs(d)
	}
	slices.Sort(sizes)
	cut, gap, below := -1, 0.0, 0.0
	for i := 0; i <= len(sizes)-least; i++ {
		if sizes[i]-below > gap {
			cut, gap = i, sizes[i]-below
		}
		below = sizes[i]
	}
	if j.blocks = len(sizes); cut < 0 {
		return j, false
	}
	for _, d := range differences {
		j.up += arith.One(d >= sizes[cut])
		j.down += arith.One(-d >= sizes[cut])
	}
	j.size = arith.MeanOf(sizes[cut:])
	squares := squaresOf(sizes[cut:])
	for _, v := range sizes[:cut] {
		squares += v * v
	}
	variance := max(squares/float64(len(sizes)-1), Rounding(append(slices.Clone(differences), 0)))
	return j, gap > warmup.FarApart*math.Sqrt(variance)
}

// signTest is the p-value of as many differences up as down.
func signTest(up, down int) float64 {
	n, tail := up+down, 0.0
	f := factorials(n)
	for k := max(up, down); k <= n; k++ {
		tail += math.Exp(f.choose(n, k) - float64(n)*math.Ln2)
	}
	return min(1, 2*tail)
}

// ofStates reports that the executions have two states.
func (c *Change) ofStates(d *decided, unit string, o Options) {
	if c.States = d.states; c.States == nil {
		return
	}
	text := c.States.text(&d.steady, unit, o)
	c.warn("two_states", "%s", text)
	if c.Verdict == CannotTell && c.States.Raised && d.corrected > o.alpha() {
		c.Reason, c.Help = text, nil
	}
}

// text describes the states, their shares, and the way out.
func (s *States) text(e *estimate, unit string, o Options) string {
	const enough = 10 // executions of a side
	text, out := "two states of executions: ", ""
	switch {
	case o.Paired:
		text += fmt.Sprintf("in %d of %d blocks after takes about %s longer, in %d as much less", s.Up, e.n,
			Percent(float64(s.Jump)), s.Down)
		out = "at least 10 blocks"
	default:
		text += fmt.Sprintf("%s at %.4g %s, %s at %.4g %s", shares(s.Before[0], e.n, s.After[0], e.m),
			float64(s.Low), unit, shares(s.Before[1], e.n, s.After[1], e.m), float64(s.High), unit)
		out = "blocks or at least 10 executions on each side"
	}
	if s.Apart {
		text += "; this may be a change, or chance as in the other keys that show two states"
	} else {
		text += fmt.Sprintf("; chance alone divides them so between the sides with a probability of "+
			"%.2g", s.P)
	}
	if min(e.n, e.m) < enough {
		text += "; it needs " + out
	}
	return text
}

func shares(before, n, after, m int) string {
	return fmt.Sprintf("%d of %d before and %d of %d after", before, n, after, m)
}

// copied returns the executions of a null arm, by row.
func (r *Result) copied(null *Side, o Options) [][]Observation {
	if null == nil {
		return nil
	}
	keys := map[string]int{}
	for k, i := range null.Keys() {
		keys[k.String()] = i
	}
	var list [][]Observation
	for _, c := range r.both() {
		var copied []Observation
		if i, ok := keys[c.Key]; ok {
			copied = row{before: null.reduced(i, o)}.sample(ofSteady).before
		}
		list = append(list, copied)
	}
	return list
}
