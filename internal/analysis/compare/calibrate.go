package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"krund/internal/analysis/arith"
)

// bins is the number of bins of Calibration.Histogram.
const bins = 20

// withoutEffect makes tables of the same data in which nothing has changed: the effect found is
// removed from every key, and its executions are exchanged at random between the sides (within each
// block when paired).
func withoutEffect(rows []row, f family, o Options, visit func(r *rand.Rand, table []row)) {
	random := rand.New(rand.NewPCG(o.Seed, 0x6b72756e64))
	still := make([]row, len(rows))
	for i := range rows {
		still[i] = rows[i].unchanged(&f.rows[i].steady, o.Paired)
	}
	mixed := make([]row, len(rows))
	for range o.Splits {
		for i := range still {
			mixed[i] = still[i].shuffled(random, o.Paired)
		}
		visit(random, mixed)
	}
}

// inject decides such tables with one key, drawn for each, whose executions after are slower.
func inject(rows []row, f family, o Options) *Injected {
	var able []int // keys that can be compared
	for i := range f.rows {
		if e := &f.rows[i].steady; e.ok && !e.linear {
			able = append(able, i)
		}
	}
	c := &Injected{Size: o.Inject}
	if len(able) == 0 {
		return c
	}
	c.Tables = o.Splits
	withoutEffect(rows, f, o, func(random *rand.Rand, table []row) {
		i := able[random.IntN(len(able))]
		table[i].after = slices.Clone(table[i].after)
		for k := range table[i].after {
			table[i].after[k].Value *= 1 + o.Inject
		}
		d := decide(table, o.Paired, o).rows[i]
		c.Found += arith.One(combine(d.change(0, o), d.class) == Worse)
	})
	c.Rate = float64(c.Found) / float64(c.Tables)
	c.Low, c.High = Binomial(c.Found, c.Tables, 0.95)
	return c
}

// calibrate counts the tables without a change that have a verdict.
func calibrate(rows []row, f family, o Options) *Calibration {
	c := &Calibration{Splits: o.Splits, Histogram: make([]int, bins)}
	withoutEffect(rows, f, o, func(_ *rand.Rand, table []row) {
		g := decide(table, o.Paired, o)
		wrong := false
		c.Keys = g.steady
		for i := range g.rows {
			d := &g.rows[i]
			if d.steady.ok {
				c.Histogram[min(int(d.p*bins), bins-1)]++
			}
			switch combine(d.change(0, o), d.class) {
			case Better, Worse, Changed:
				wrong = true
			}
		}
		c.False += arith.One(wrong)
	})
	c.Rate = float64(c.False) / float64(c.Splits)
	c.Low, c.High = Binomial(c.False, c.Splits, 0.95)
	return c
}

// unchanged returns the row without its effect. The deviations from the mean of each side are
// widened as much as subtracting the mean has narrowed them. Of blocks only complete ones remain.
func (r row) unchanged(e *estimate, paired bool) row {
	switch {
	case !e.ok && paired:
		return row{}
	case !e.ok:
		return r
	case paired:
		return r.unchangedBlocks(e)
	}
	if groups := r.byMachine(); len(groups) > 1 {
		return unchangedWithin(groups, e)
	}
	side := func(list []reduced, center float64) []reduced {
		n := float64(len(list))
		moved := make([]reduced, len(list))
		for i := range list {
			moved[i] = list[i]
			moved[i].Value = e.unscale(e.before + (e.scale(list[i].Value)-center)*math.Sqrt(n/(n-1)))
		}
		return moved
	}
	return row{side(r.before, e.before), side(r.after, e.after)}
}

// byMachine splits the row.
func (r row) byMachine() []row {
	var groups []row
	for _, machine := range r.sample(ofSteady).machines() {
		of := func(list []reduced) []reduced {
			return slices.DeleteFunc(slices.Clone(list), func(e reduced) bool { return e.Machine != machine })
		}
		groups = append(groups, row{of(r.before), of(r.after)})
	}
	return groups
}

// unchangedWithin does it for each machine, which keeps its level.
func unchangedWithin(groups []row, e *estimate) row {
	var result row
	n := float64(e.n + e.m)
	wide := math.Sqrt(n / max(1, n-float64(len(groups))-1))
	for _, g := range groups {
		center := 0.0
		for _, x := range g.before {
			center += e.scale(x.Value)
		}
		for _, y := range g.after {
			center += e.scale(y.Value) - e.effect()
		}
		center /= float64(len(g.before) + len(g.after))
		move := func(list []reduced, effect float64) []reduced {
			for i := range list {
				list[i].Value = e.unscale(center + (e.scale(list[i].Value)-effect-center)*wide)
			}
			return list
		}
		result.before = append(result.before, move(g.before, 0)...)
		result.after = append(result.after, move(g.after, e.effect())...)
	}
	return result
}

// unchangedBlocks does it with the differences in complete blocks; the others are dropped.
func (r row) unchangedBlocks(e *estimate) row {
	var result row
	wide := math.Sqrt(float64(e.n) / float64(e.n-1))
	partner := map[int]*reduced{}
	for i := range r.before {
		partner[r.before[i].Block()] = &r.before[i]
	}
	for _, after := range r.after {
		before, ok := partner[after.Block()]
		if !ok {
			continue
		}
		difference := e.scale(after.Value) - e.scale(before.Value)
		after.Value = e.unscale(e.scale(before.Value) + (difference-e.effect())*wide)
		result.before, result.after = append(result.before, *before), append(result.after, after)
	}
	return result
}

func (e *estimate) scale(v float64) float64 {
	if e.linear {
		return v
	}
	return math.Log(v)
}

func (e *estimate) unscale(v float64) float64 {
	if e.linear {
		return v
	}
	return math.Exp(v)
}

// shuffled returns the row with its executions at random on the two sides.
func (r row) shuffled(random *rand.Rand, paired bool) row {
	n := len(r.before)
	if paired {
		s := row{make([]reduced, n), make([]reduced, n)}
		for i := range n {
			s.before[i], s.after[i] = r.before[i], r.after[i]
			if random.IntN(2) == 0 {
				s.before[i], s.after[i] = r.after[i], r.before[i]
			}
		}
		return s
	}
	if groups := r.byMachine(); len(groups) > 1 {
		var s row
		for _, g := range groups {
			g = g.shuffled(random, false)
			s.before, s.after = append(s.before, g.before...), append(s.after, g.after...)
		}
		return s
	}
	both := make([]reduced, 0, n+len(r.after))
	both = append(append(both, r.before...), r.after...)
	random.Shuffle(len(both), func(i, j int) { both[i], both[j] = both[j], both[i] })
	return row{both[:n], both[n:]}
}

// Binomial returns the interval of Clopper and Pearson (1934) of a probability, from hits among n.
func Binomial(hits, n int, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	k, m := float64(hits), float64(n)
	high = 1
	if hits > 0 {
		low = bisect(0, 1, func(p float64) bool { return betaBelow(k, m-k+1, p) >= tail })
	}
	if hits < n {
		high = bisect(0, 1, func(p float64) bool { return betaBelow(k+1, m-k, p) >= 1-tail })
	}
	return low, high
}
