package compare

// This file looks for what a block does to its executions. The first process in a round may meet
// another machine than the later ones: the order of each block was drawn, so a randomization test
// is exact whatever the distribution ([Result.places]). And all arms of a block may have the same
// layout in memory ([Result.layout]).

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// FirstPlace is what being the first in its block changes.
type FirstPlace struct {
	Ratio  warmup.Real `json:"ratio"` // of the first to the later ones, over all keys
	P      float64     `json:"p"`     // of a randomization test
	Blocks int         `json:"blocks"`
}

// placed is a value in a block: its deviation from its key and its block, in units of its key.
type placed struct {
	place          int
	value, reduced float64 // logarithm; deviation over the standard deviation of the key
}

// firstPlace tests whether the first executions of blocks differ from the later ones. ok is false
// with fewer than three blocks of two executions whose places are known.
func firstPlace(g *Groups) (f FirstPlace, ok bool) {
	blocks := g.placed()
	observed, difference, n := firstOf(blocks)
	const fewest, draws = 3, 1999
	if f.Blocks = len(blocks); len(blocks) < fewest || n == 0 {
		return f, false
	}
	random := rand.New(rand.NewPCG(1, 0x706c616365))
	more := 1
	for range draws {
		for _, b := range blocks {
			random.Shuffle(len(b), func(i, j int) { b[i].place, b[j].place = b[j].place, b[i].place })
		}
		if t, _, _ := firstOf(blocks); math.Abs(t) >= math.Abs(observed) {
			more++
		}
	}
	f.P, f.Ratio = float64(more)/(draws+1), warmup.Real(math.Exp(difference))
	return f, true
}

// firstOf sums the deviations of the first executions, and returns the mean difference of their
// logarithms from those of the later ones, and their number.
func firstOf(blocks [][]placed) (sum, difference float64, n int) {
	later, m := 0.0, 0
	for _, b := range blocks {
		for _, e := range b {
			if e.place == 1 {
				sum, difference, n = sum+e.reduced, difference+e.value, n+1
			} else {
				later, m = later+e.value, m+1
			}
		}
	}
	if n == 0 || m == 0 {
		return 0, 0, 0
	}
	return sum, difference/float64(n) - later/float64(m), n
}

// placed returns the executions of blocks with at least two of them, as deviations from the means
// of their keys and then of their blocks.
func (g *Groups) placed() [][]placed {
	type block struct {
		of     key.Key // whose arms it has; the zero key: all keys
		number int
	}
	at := map[block]int{}
	var blocks [][]placed
	s := g.of[0]
	for i := range s.Data.Pairs {
		pair := &s.Data.Pairs[i]
		var values []float64
		var executions []int
		for k := range pair.Executions {
			r, ok := reduce(&pair.Executions[k], &s.Doc.Pairs[i].Executions[k], s.Doc.Parameters.Column, 1)
			if ok && r.Value > 0 && pair.Executions[k].Place > 0 {
				values, executions = append(values, math.Log(r.Value)), append(executions, k)
			}
		}
		if len(values) < 2 {
			continue
		}
		center, sd := arith.MeanOf(values), math.Sqrt(variance(values))
		for j, k := range executions {
			b := block{number: pair.Executions[k].Number}
			if s.Data.Blocked {
				b.of = pair.Key
				b.of.Arm = ""
			}
			index, known := at[b]
			if !known {
				index = len(blocks)
				at[b], blocks = index, append(blocks, nil)
			}
			p := placed{place: pair.Executions[k].Place, value: values[j] - center}
			if sd > 0 {
				p.reduced = p.value / sd
			}
			blocks[index] = append(blocks[index], p)
		}
	}
	var list [][]placed
	for _, b := range blocks {
		if len(b) < 2 {
			continue
		}
		center := placed{}
		for _, e := range b {
			center.value += e.value / float64(len(b))
			center.reduced += e.reduced / float64(len(b))
		}
		for i := range b {
			b[i].value, b[i].reduced = b[i].value-center.value, b[i].reduced-center.reduced
		}
		list = append(list, b)
	}
	return list
}

// places warns if the first place in a block makes a difference.
func (r *Result) places(g *Groups, o Options) {
	f, ok := firstPlace(g)
	alpha := o.withDefaults().alpha()
	if !ok || f.P > alpha {
		return
	}
	r.FirstPlace = &f
	r.warn("first_place", "the first execution in a block takes %.4g times as long as the later ones, in "+
		"the mean of all keys (p %.2g, over %d blocks; without an effect this is said with a probability "+
		"of at most %s): the place was drawn, so it is no bias, but it costs precision", float64(f.Ratio),
		f.P, f.Blocks, Percent(alpha))
}

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
// layout, and each block has another one: what they have in common, and neighboring blocks have
// not, is the effect of the layout. ok is false for fewer than three blocks, and if the arms of
// each block differ by the same factor, so that there is nothing to divide.
//
// The estimate is an intraclass correlation (Shrout and Fleiss, Psychological Bulletin 86, 1979,
// ICC(1) with the means of the arms removed): with the mean squares B of the blocks and W within
// them, (F-1)/(F+1) with F = B/W. B is the mean squared difference of successive blocks (von
// Neumann, Annals of Mathematical Statistics 12, 1941) and not their variance, so that a drift over
// the blocks does not count as layout. It has 2 (n-1)^2 / (3n-4) degrees of freedom. If the arms
// are different programs, what a layout does to one arm only counts as noise; give copies of one
// program where there are any.
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
