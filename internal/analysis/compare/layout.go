package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/dataset"
)

// layout fills in the share of the layout in the noise of each key, and warns of verdicts from one
// layout and of arms that are alike.
func (r *Result) layout(before, after Side, o Options) {
	sides := []Side{before, after}
	if before.Data == after.Data {
		sides = sides[:1]
	}
	for _, s := range sides {
		if s.Data.Layout == dataset.LayoutFixed {
			r.warn("one_layout", "all executions of %s had the same layout in memory: a change may hold "+
				"for that layout only; measure with experiment.layout = \"random\", or aslr = 2",
				s.Data.Source)
		}
	}
	if armsSay(before, after, func(arm dataset.Arm) []string { return arm.Twins }) {
		r.warn("same_arms", "the files and settings of the arms %s and %s are the same, at least for some "+
			"keys: a change there is noise", before.Arm, after.Arm)
	}
	if !o.Paired || before.Data.Layout != dataset.LayoutRandom {
		return
	}
	other := after // a copy of the same program is affected by a layout in the same way
	if o.Null != nil {
		other = *o.Null
	}
	keys := other.Keys()
	for i := range before.Data.Pairs {
		k, ok := before.name(i)
		j, both := keys[k]
		if !ok || !both {
			continue
		}
		at := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Key == k.String() })
		if s, ok := layoutShares(inBlocks(before.reduced(i, o), other.reduced(j, o))); ok && at >= 0 {
			r.Changes[at].Layout = &s
		}
	}
}

// inBlocks returns the logarithms of the positive values of blocks that have both.
func inBlocks(a, b []reduced) (x, y []float64) {
	s, _ := complete(row{a, b}.sample(ofSteady))
	for i, before := range s.before {
		if after := s.after[i]; before.Value > 0 && after.Value > 0 {
			x, y = append(x, math.Log(before.Value)), append(y, math.Log(after.Value))
		}
	}
	return x, y
}

// LayoutShare is the share of the layout in memory, the place of a process's environment and stack,
// in the variance of the logarithms of executions, from 0 to 1, with its 95 % interval.
type LayoutShare struct {
	Share  float64 `json:"share"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Blocks int     `json:"blocks"`
}

// layoutShares estimates the share from the logarithms of the values of two arms in each block, in
// the order in which the blocks were run. With random layouts, both arms of a block have the same
// layout, and each block has another one: what they have in common, and neighboring blocks have not,
// is the effect of the layout. ok is false for fewer than three blocks, and if the arms of each
// block differ by the same factor, so that there is nothing to divide.
//
// The estimate is an intraclass correlation (Shrout and Fleiss, Psychological Bulletin 86, 1979,
// ICC(1) with the means of the arms removed): with the mean squares B of the blocks and W within
// them, (F-1)/(F+1) with F = B/W. B is the mean squared difference of successive blocks (von
// Neumann, Annals of Mathematical Statistics 12, 1941) and not their variance, so that a drift over
// the blocks does not count as layout. It has 2 (n-1)^2 / (3n-4) degrees of freedom. If the arms are
// different programs, what a layout does to one arm only counts as noise; give copies of one program
// where there are any.
func layoutShares(x, y []float64) (s LayoutShare, ok bool) {
	const fewest, tail = 3, 0.025
	n := len(x)
	if n < fewest {
		return s, false
	}
	between := 0.0
	for b := 1; b < n; b++ {
		step := (x[b] + y[b] - x[b-1] - y[b-1]) / 2
		between += step * step
	}
	freedomW := float64(n - 1)
	freedomB := 2 * freedomW * freedomW / float64(3*n-4)
	f := between / freedomW / (variance(differences(x, y)) / 2)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return s, false
	}
	share := func(f float64) float64 { return max(0, (f-1)/(f+1)) }
	return LayoutShare{
		Share: share(f), Blocks: n,
		Low:  share(f / distuv.F{D1: freedomB, D2: freedomW}.Quantile(1-tail)),
		High: share(f * distuv.F{D1: freedomW, D2: freedomB}.Quantile(1-tail)),
	}, true
}
