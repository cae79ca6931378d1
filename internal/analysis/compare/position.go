package compare

// This file looks for an effect of the place within a block: the first process in a round may meet
// another machine than the later ones. The order of each block was drawn, so a randomization test
// is exact whatever the distribution. Start at [Result.places].

import (
	"math"
	"math/rand/v2"

	"krund/internal/analysis/arith"
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
