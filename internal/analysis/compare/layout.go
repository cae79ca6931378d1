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
		if s, ok := layoutShares(blocks(before.reduced(i, o), other.reduced(j, o))); ok && at >= 0 {
			r.Changes[at].Layout = &s
		}
	}
}

// blocks returns the positive values of the executions with the same number, in the order of their
// numbers.
func blocks(a, b []reduced) [][]float64 {
	var list [][]float64
	for i := range a {
		j := slices.IndexFunc(b, func(e reduced) bool { return e.Block() == a[i].Block() })
		if j >= 0 && a[i].Value > 0 && b[j].Value > 0 {
			list = append(list, []float64{a[i].Value, b[j].Value})
		}
	}
	return list
}

// This file estimates how much of the variance between executions is due to the layout of the
// process in memory: the place of its environment and stack.
//
// In an experiment with random layouts, all arms of a block have the same layout, and each block
// has another one. What the executions of a block have in common, and neighboring blocks have not,
// is therefore the effect of the layout. Start reading at [layoutShares].

// layoutConfidence of the interval of a LayoutShare.
const layoutConfidence = 0.95

// leastBlocks is the smallest number of blocks with an estimate.
const leastBlocks = 3

// LayoutShare is the share of the layout in the variance of the logarithms of executions, from 0 to
// 1, with its confidence interval.
type LayoutShare struct {
	Share  float64 `json:"share"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Blocks int     `json:"blocks"`
}

// Of estimates the share from the values (such as seconds, greater than 0) of a key in each block,
// in the order in which the blocks were run: one value for each arm, of the same arms in the same
// order. ok is false for fewer than three blocks or two arms, and if the arms of each block differ
// by the same factor, so that there is nothing to divide.
//
// The estimate is an intraclass correlation (Shrout and Fleiss, Psychological Bulletin 86, 1979,
// ICC(1) with the means of the arms removed): with the mean squares B of the blocks and W within
// them, and a arms, (F-1)/(F-1+a) with F = B/W. B is the mean squared difference of successive
// blocks (von Neumann, Annals of Mathematical Statistics 12, 1941) and not their variance, so that
// a drift over the blocks does not count as layout. It has 2 (n-1)^2 / (3n-4) degrees of freedom.
// If arms are different programs, what a layout does to one arm only counts as noise; give copies
// of one program where there are any.
func layoutShares(blocks [][]float64) (s LayoutShare, ok bool) {
	n := len(blocks)
	if n < leastBlocks || len(blocks[0]) < 2 {
		return s, false
	}
	arms := float64(len(blocks[0]))
	logs, means := centeredBlocks(blocks)
	within, between := 0.0, 0.0
	for b := range logs {
		for _, v := range logs[b] {
			within += (v - means[b]) * (v - means[b])
		}
		if b > 0 {
			between += (means[b] - means[b-1]) * (means[b] - means[b-1])
		}
	}
	blocksLess := float64(n - 1)
	freedomW := (arms - 1) * blocksLess
	freedomB := 2 * blocksLess * blocksLess / float64(3*n-4)
	f := arms * between / (2 * blocksLess) / (within / freedomW)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return s, false
	}
	tail := (1 - layoutConfidence) / 2
	share := func(f float64) float64 { return max(0, (f-1)/(f-1+arms)) }
	return LayoutShare{
		Share: share(f), Blocks: n,
		Low:  share(f / distuv.F{D1: freedomB, D2: freedomW}.Quantile(1-tail)),
		High: share(f * distuv.F{D1: freedomW, D2: freedomB}.Quantile(1-tail)),
	}, true
}

// centeredBlocks returns the logarithms of the values less the mean of their arm, and the mean of
// each block.
func centeredBlocks(blocks [][]float64) (logs [][]float64, means []float64) {
	arms := make([]float64, len(blocks[0]))
	logs, means = make([][]float64, len(blocks)), make([]float64, len(blocks))
	for b, values := range blocks {
		logs[b] = make([]float64, len(values))
		for a, v := range values {
			logs[b][a] = math.Log(v)
			arms[a] += logs[b][a] / float64(len(blocks))
		}
	}
	for b := range logs {
		for a := range logs[b] {
			logs[b][a] -= arms[a]
			means[b] += logs[b][a] / float64(len(logs[b]))
		}
	}
	return logs, means
}
