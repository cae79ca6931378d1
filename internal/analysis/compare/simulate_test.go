package compare

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/classify"
	"krund/rig/must"
)

// The simulations decide tables in which nothing has changed, and tables in which the after side of
// every key was multiplied. `make compare-bench` runs more of them, and prints the table of
// docs/statistics.md.

// scenario makes tables of a kind.
type scenario struct {
	name   string
	paired bool
	table  func(r *rand.Rand) []row
	limit  float64 // of the share of tables with a false verdict; 0: 0.05
}

// outcome counts what was decided.
type outcome struct {
	tables, falseTables, falseWelch int
	keys, without                   int // keys, and those without an effect
	found, foundWelch               [4]int
	histogram                       [10]int // of the p-values when nothing has changed
	below5, below1                  int     // p-values below 0.05 and 0.01
}

// injected are the factors of the after side.
var injected = [4]float64{1, 1.02, 1.05, 1.1}

// run decides n tables.
func (s scenario) run(n int, seed uint64) outcome {
	random := rand.New(rand.NewPCG(seed, 77))
	o := Options{}.withDefaults()
	var c outcome
	for range n {
		rows := s.table(random)
		c.tables++
		for i, factor := range injected {
			changed := multiplied(rows, factor)
			f := decide(changed, s.paired, o)
			welch := welchHolm(changed, o)
			c.found[i] += count(f, o)
			c.foundWelch[i] += welch
			if i > 0 {
				continue
			}
			c.keys += len(rows)
			c.without += len(rows) - f.steady
			if count(f, o) > 0 {
				c.falseTables++
			}
			if welch > 0 {
				c.falseWelch++
			}
			for k := range f.rows {
				if d := &f.rows[k]; d.steady.ok {
					c.histogram[min(int(d.p*10), 9)]++
					c.below5 += arith.One(d.p < 0.05)
					c.below1 += arith.One(d.p < 0.01)
				}
			}
		}
	}
	return c
}

// count is the number of keys with a change.
func count(f family, o Options) int {
	n := 0
	for i := range f.rows {
		d := &f.rows[i]
		switch combine(d.change(0, o), d.class) {
		case Better, Worse, Changed:
			n++
		}
	}
	return n
}

func multiplied(rows []row, factor float64) []row {
	list := make([]row, len(rows))
	for i, r := range rows {
		list[i] = row{r.before, slices.Clone(r.after)}
		for k := range list[i].after {
			list[i].after[k].Value *= factor
			list[i].after[k].mean *= factor
		}
	}
	return list
}

// welchHolm is the number of keys in which Welch's test finds a change.
func welchHolm(rows []row, o Options) int {
	n := 0
	for _, changed := range welchChanged(rows, o) {
		n += arith.One(changed)
	}
	return n
}

// welchChanged are the keys in which Welch's test on the logarithms of the medians of the second
// halves (which are stored as mean here) finds a change, corrected by Holm's method with all of
// alpha: the test to beat.
func welchChanged(rows []row, o Options) []bool {
	var family []hypothesis
	corrected := make([]float64, len(rows))
	for i, r := range rows {
		s := r.sample(ofMean)
		e := estimate{n: len(s.before), m: len(s.after)}
		x, y := e.scaled(s.before), e.scaled(s.after)
		e.factor = 1/float64(e.n) + 1/float64(e.m)
		e.before, e.after = arith.MeanOf(x), arith.MeanOf(y)
		v, w := variance(x), variance(y)
		if v+w > 0 {
			e.welch(v, w, float64(e.n-1), float64(e.m-1))
		}
		family = append(family, hypothesis{e.p(), &corrected[i]})
	}
	Holm.adjust(family, 1)
	changed := make([]bool, len(rows))
	for i, p := range corrected {
		changed[i] = p <= o.alpha()
	}
	return changed
}

// log writes the figures of a scenario.
func (c outcome) log(t *testing.T, name string) {
	low, high := Binomial(c.falseTables, c.tables, 0.95)
	share := func(n int) float64 { return float64(n) / float64(c.keys) }
	t.Logf("%-40s tables %.3f (%.3f to %.3f), Welch %.3f | found +2%% %.3f (%.3f) +5%% %.3f (%.3f) "+
		"+10%% %.3f (%.3f) | without %d", name, float64(c.falseTables)/float64(c.tables), low, high,
		float64(c.falseWelch)/float64(c.tables), share(c.found[1]), share(c.foundWelch[1]), share(c.found[2]),
		share(c.foundWelch[2]), share(c.found[3]), share(c.foundWelch[3]), c.without)
	t.Logf("%40s p-values below .01: %.4f, below .05: %.4f, in tenths: %v", "", share(c.below1),
		share(c.below5), c.histogram)
}

// check fails when the rate of false tables is certainly above the limit.
func (c outcome) check(t *testing.T, name string, limit float64) {
	low, _ := Binomial(c.falseTables, c.tables, 0.99)
	must.Be(t, low <= limit, name, c.falseTables, "of", c.tables, "tables have a false verdict")
}

// normal makes keys whose executions differ by a standard deviation of their own, drawn from an
// inverse chi-squared distribution with 4 degrees of freedom around sd, and are distributed as
// shape.
func normal(keys, before, after int, sd float64, shape func(*rand.Rand) float64) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		return normalRows(r, keys, before, after, func() float64 { return deviation(r, sd) }, shape)
	}
}

func deviation(r *rand.Rand, sd float64) float64 {
	chi := 0.0
	for range 4 {
		chi += math.Pow(r.NormFloat64(), 2)
	}
	return sd * math.Sqrt(4/chi)
}

func normalRows(r *rand.Rand, keys, before, after int, sd func() float64,
	shape func(*rand.Rand) float64) []row {
	rows := make([]row, keys)
	for i := range rows {
		s := sd()
		one := func(n int) []reduced {
			list := make([]reduced, n)
			for k := range list {
				v := math.Exp(s * shape(r))
				list[k] = reduced{Execution: Execution{Number: k + 1, Value: v, Class: classify.Flat},
					mean: v}
			}
			return list
		}
		rows[i] = row{one(before), one(after)}
	}
	return rows
}

func gauss(r *rand.Rand) float64 { return r.NormFloat64() }

// student3 is Student's t with 3 degrees of freedom, in standard deviations.
func student3(r *rand.Rand) float64 {
	chi := 0.0
	for range 3 {
		chi += math.Pow(r.NormFloat64(), 2)
	}
	return r.NormFloat64() / math.Sqrt(chi/3) / math.Sqrt(3)
}

// bimodal is one of ten at +3.
func bimodal(r *rand.Rand) float64 {
	v := r.NormFloat64()
	if r.IntN(10) == 0 {
		v += 3
	}
	return v
}

func skewed(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Sqrt(math.E) }

// spread multiplies the deviations of the after side, in every so many keys.
func spread(rows func(*rand.Rand) []row, factor float64, every int) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		list := rows(r)
		for i := 0; i < len(list); i += every {
			for k := range list[i].after {
				e := &list[i].after[k]
				e.Value, e.mean = math.Pow(e.Value, factor), math.Pow(e.mean, factor)
			}
		}
		return list
	}
}

// swapped exchanges the sides of each key at random.
func swapped(rows func(*rand.Rand) []row) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		list := rows(r)
		for i := range list {
			if r.IntN(2) == 0 {
				list[i].before, list[i].after = list[i].after, list[i].before
			}
		}
		return list
	}
}

// different makes 40 keys whose standard deviations are lognormal, with a median of 1.6 % and a
// 90th percentile of 8.3 %, as those of 200 JMH benchmarks.
func different(executions int) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		return normalRows(r, 40, executions, executions, func() float64 {
			return 0.016 * math.Exp(1.286*r.NormFloat64())
		}, gauss)
	}
}

// mixed draws classes at random, on both sides alike.
func mixed(rows func(*rand.Rand) []row) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		list := rows(r)
		for i := range list {
			share := r.Float64()
			for _, side := range [][]reduced{list[i].before, list[i].after} {
				for k := range side {
					side[k].Class = classify.Warmup
					if r.Float64() < share {
						side[k].Class = classify.Classes[r.IntN(len(classify.Classes))]
					}
				}
			}
		}
		return list
	}
}

// rounded rounds the values to ticks of 1 %.
func rounded(rows func(*rand.Rand) []row) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		list := rows(r)
		for i := range list {
			for _, side := range [][]reduced{list[i].before, list[i].after} {
				for k := range side {
					side[k].Value = math.Round(side[k].Value*100) / 100
				}
			}
		}
		return list
	}
}

// drifting adds a drift of a tenth per block to both sides, and to after half a step more, because
// it runs later; r gives each block's order.
func drifting(rows func(*rand.Rand) []row, step float64) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		list := rows(r)
		for i := range list {
			for k := range list[i].before {
				first, second := math.Exp(step*float64(k)), math.Exp(step*(float64(k)+0.01))
				if r.IntN(2) == 0 {
					first, second = second, first
				}
				list[i].before[k].Value *= first
				list[i].after[k].Value *= second
				list[i].before[k].mean *= first
				list[i].after[k].mean *= second
			}
		}
		return list
	}
}

// shared distributes the executions of each side over machines, as many as the shares of the side
// say, whose levels differ by a standard deviation of levels; each machine's after side by one of
// changes. On the first machine the deviations are multiplied by noise.
func shared(rows func(*rand.Rand) []row, before, after []int,
	levels, changes, noise float64) func(*rand.Rand) []row {
	return func(r *rand.Rand) []row {
		list := rows(r)
		for i := range list {
			level, change := make([]float64, len(before)), make([]float64, len(before))
			for m := range level {
				level[m] = levels * r.NormFloat64()
				change[m] = level[m] + changes*r.NormFloat64()
			}
			put := func(list []reduced, shares []int, by []float64) {
				m, left := 0, shares[0]
				for k := range list {
					for left == 0 {
						m++
						left = shares[m]
					}
					left--
					e := &list[k]
					e.Machine = string(rune('a' + m))
					if m == 0 {
						e.Value, e.mean = math.Pow(e.Value, noise), math.Pow(e.mean, noise)
					}
					e.Value *= math.Exp(by[m])
					e.mean *= math.Exp(by[m])
				}
			}
			put(list[i].before, before, level)
			put(list[i].after, after, change)
		}
		return list
	}
}

// autoregressive reduces executions of 200 iterations with a lag-1 autocorrelation of 0.9, of which
// the second halves are not independent.
func autoregressive(r *rand.Rand) []row {
	rows := make([]row, 12)
	for i := range rows {
		one := func() []reduced {
			list := make([]reduced, 5)
			for k := range list {
				level := math.Exp(0.01 * r.NormFloat64())
				values, noise := make([]float64, 100), 0.0
				for j := range values {
					noise = 0.9*noise + r.NormFloat64()
					values[j] = level * (1 + 0.01*noise)
				}
				slices.Sort(values)
				list[k] = reduced{Execution: Execution{Number: k + 1, Value: shorth(values)},
					mean: arith.MedianOf(values)}
			}
			return list
		}
		rows[i] = row{one(), one()}
	}
	return rows
}

func scenarios() []scenario {
	const sd = 0.01
	return []scenario{
		{name: "3 against 3, normal", table: normal(20, 3, 3, sd, gauss)},
		{name: "5 against 5, normal", table: normal(20, 5, 5, sd, gauss)},
		{name: "10 against 10, normal", table: normal(20, 10, 10, sd, gauss)},
		{name: "30 against 30, normal", table: normal(20, 30, 30, sd, gauss)},
		{name: "5 against 5, 5 keys", table: normal(5, 5, 5, sd, gauss)},
		{name: "3 against 3, 40 keys of very different spread", table: different(3)},
		{name: "5 against 5, 40 keys of very different spread", table: different(5)},
		{name: "10 against 10, 40 keys of very different spread", table: different(10)},
		{name: "10 against 5, normal", table: normal(20, 10, 5, sd, gauss)},
		{name: "5 against 5, t with 3 df", table: normal(20, 5, 5, sd, student3)},
		{name: "10 against 10, t with 3 df", table: normal(20, 10, 10, sd, student3)},
		{name: "5 against 5, lognormal", table: normal(20, 5, 5, sd, skewed)},
		{name: "30 against 10, lognormal", table: normal(20, 30, 10, sd, skewed)},
		// the mean is the same, the spread is not
		{name: "3 against 3, 4 times the spread", table: spread(normal(20, 3, 3, sd, gauss), 4, 1),
			limit: 0.07},
		{name: "5 against 5, 4 times the spread", table: spread(normal(20, 5, 5, sd, gauss), 4, 1)},
		{name: "10 against 10, 4 times the spread", table: spread(normal(20, 10, 10, sd, gauss), 4, 1)},
		{name: "30 against 30, 4 times the spread", table: spread(normal(20, 30, 30, sd, gauss), 4, 1)},
		{name: "10 against 5, twice the spread", table: spread(normal(20, 10, 5, sd, gauss), 2, 1)},
		{name: "5 against 5, 4 times the spread, 5 keys", table: spread(normal(5, 5, 5, sd, gauss), 4, 1),
			limit: 0.08},
		{name: "5 against 5, 4 times the spread in half of the keys", limit: 0.1,
			table: spread(normal(20, 5, 5, sd, gauss), 4, 2)},
		{name: "3 against 3, 4 times the spread of a random side", limit: 0.13,
			table: swapped(spread(normal(20, 3, 3, sd, gauss), 4, 1))},
		{name: "5 against 5, 4 times the spread of a random side", limit: 0.13,
			table: swapped(spread(normal(20, 5, 5, sd, gauss), 4, 1))},
		{name: "5 against 5, bimodal", table: normal(20, 5, 5, sd, bimodal)},
		{name: "10 against 10, bimodal", table: normal(20, 10, 10, sd, bimodal)},
		{name: "10 against 10, mixed classes", table: mixed(normal(20, 10, 10, sd, gauss))},
		{name: "30 against 30, mixed classes", table: mixed(normal(20, 30, 30, sd, gauss))},
		{name: "5 against 5, rounded to 1 %", table: rounded(normal(20, 5, 5, sd, gauss))},
		{name: "5 against 5, AR(1) 0.9 within", table: autoregressive},
		{name: "10 blocks, paired", table: normal(20, 10, 10, sd, gauss), paired: true},
		{name: "10 blocks, t with 3 df, paired", table: normal(20, 10, 10, sd, student3), paired: true},
		{name: "10 blocks, drift of 2 % a block, unpaired", table: drifting(normal(20, 10, 10, sd, gauss),
			0.02)},
		{name: "10 blocks, drift of 2 % a block, paired", table: drifting(normal(20, 10, 10, sd, gauss),
			0.02),
			paired: true},
		{name: "12 blocks, 3 machines, paired", table: shared(normal(20, 12, 12, sd, gauss), []int{4, 4, 4},
			[]int{4, 4, 4}, 0.05, 0, 1), paired: true},
		{name: "12 against 12, 3 machines", table: shared(normal(20, 12, 12, sd, gauss), []int{4, 4, 4},
			[]int{4, 4, 4}, 0.05, 0, 1)},
		{name: "12 against 12, 3 machines, unequal parts", table: shared(normal(20, 12, 12, sd, gauss),
			[]int{2, 4, 6}, []int{6, 4, 2}, 0.05, 0, 1)},
		{name: "12 against 8, 4 machines, one without before", table: shared(normal(20, 12, 8, sd, gauss),
			[]int{4, 4, 4, 0}, []int{2, 2, 2, 2}, 0.05, 0, 1)},
		{name: "12 blocks, 3 machines, one with 10 times the spread", paired: true,
			table: shared(normal(20, 12, 12, sd, gauss), []int{4, 4, 4}, []int{4, 4, 4}, 0.05, 0, 10)},
		{name: "12 against 12, 3 machines, one with 10 times the spread", table: shared(normal(20, 12, 12, sd,
			gauss), []int{4, 4, 4}, []int{4, 4, 4}, 0.05, 0, 10)},
		{name: "12 against 12, unequal parts, one with 10 times the spread",
			table: shared(normal(20, 12, 12, sd, gauss), []int{2, 4, 6}, []int{6, 4, 2}, 0.05, 0, 10)},
		// the change is another one on each machine, 0 on average: outside the assumptions
		{name: "12 blocks, 3 machines, changes of 1 %", table: shared(normal(20, 12, 12, sd, gauss),
			[]int{4, 4, 4}, []int{4, 4, 4}, 0.05, 0.01, 1), paired: true, limit: 1},
	}
}

// The numbers of simulated tables; the long ones are for the figures of docs/statistics.md.
var (
	simulatedTables = must.Often(40, 2000)
	jmhTables       = must.Often(200, 2000)
	decileTables    = must.Often(600, 10_000)
	uglyRepetitions = must.Often(40, 3200)
	uglyKeys        = must.Often(10, 100)
	adviceTables    = must.Often(12, 200)
)

// TestSimulations: tables in which nothing has changed have a false verdict in no more than 5 %.
func TestSimulations(t *testing.T) {
	for _, s := range scenarios() {
		c := s.run(simulatedTables, 1)
		c.log(t, s.name)
		c.check(t, s.name, cmp.Or(s.limit, 0.05))
	}
}

// TestDetectable: a change of the size that a key publishes as detectable, injected into other
// executions of the same kind, is found with the published power of 0.8.
func TestDetectable(t *testing.T) {
	const keys = 20
	tables := must.Often(40, 100)
	for _, c := range []struct {
		name   string
		n      int
		paired bool
	}{{"5 against 5", 5, false}, {"10 against 10", 10, false}, {"8 blocks", 8, true}} {
		random := rand.New(rand.NewPCG(3, 5))
		o := Options{Paired: c.paired, Margin: 1e-6}.withDefaults()
		alike := func(r *rand.Rand) []row {
			return normalRows(r, keys, c.n, c.n, func() float64 { return 0.01 }, gauss)
		}
		found, tests := 0, 0
		for range tables {
			f := decide(alike(random), c.paired, o)
			fresh := alike(random)
			for i := range fresh {
				e := f.rows[i].describe(o)
				fresh[i] = multiplied(fresh[i:i+1], 1+float64(e.Detectable))[0]
				// one key changes at a time: a rejection eases the correction of the others
				one := alike(random)
				one[i] = fresh[i]
				g := decide(one, c.paired, o)
				tests++
				found += arith.One(g.rows[i].change(0, o) == Worse)
			}
		}
		share := float64(found) / float64(tests)
		t.Logf("%s: a detectable change was found in %.3f of %d keys", c.name, share, tests)
		must.Be(t, share >= 0.75 && share <= 0.85, c.name, share, "want 0.8")
	}
}

// TestBound: a normal test that knows the variance of every key finds most; the test finds more
// than Welch's, and not more than that.
func TestBound(t *testing.T) {
	o := Options{}.withDefaults()
	random := rand.New(rand.NewPCG(11, 13))
	for _, c := range []struct{ keys, median, spread float64 }{{40, 0.016, 1.286}, {21, 0.0076, 1.9}} {
		found, welch, known := 0, 0, 0
		for range simulatedTables {
			var sds []float64
			rows := multiplied(normalRows(random, int(c.keys), 5, 5, func() float64 {
				sds = append(sds, c.median*math.Exp(c.spread*random.NormFloat64()))
				return sds[len(sds)-1]
			}, gauss), 1.05)
			found, welch = found+count(decide(rows, false, o), o), welch+welchHolm(rows, o)
			corrected, family := make([]float64, len(rows)), []hypothesis(nil)
			for i, r := range rows {
				e := estimateOf(r.sample(ofSteady), false)
				e.variance, e.freedom = sds[i]*sds[i], math.Inf(1)
				family = append(family, hypothesis{e.p(), &corrected[i]})
			}
			Holm.adjust(family, 1)
			for _, p := range corrected {
				known += arith.One(p <= o.alpha())
			}
		}
		share := func(n int) float64 { return float64(n) / c.keys / float64(simulatedTables) }
		t.Logf("%v keys, +5 %%: found %.3f, Welch %.3f, known variances %.3f", c.keys, share(found),
			share(welch), share(known))
		must.Be(t, found > welch && found <= known, "found", found, "Welch", welch, "known variances", known)
	}
}
