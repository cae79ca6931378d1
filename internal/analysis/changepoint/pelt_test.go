package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/rig/must"
)

// peltPlain is PELT as R's C code runs it (PELT_one_func_minseglen.c): the reference for
// the tests of peltGrouped.
func peltPlain(c cost, n, minimum int, penalty float64) *solution {
	s := newSolution(c, n, minimum, penalty)
	candidates := []int32{0, int32(minimum)}
	values := make([]float64, n+1)
	for t := 2 * minimum; t <= n; t++ {
		best := 0
		for i, from := range candidates {
			values[i] = s.f[from] + c.segment(int(from), t) + penalty
			if values[i] < values[best] {
				best = i
			}
		}
		s.f[t], s.last[t] = values[best], candidates[best]
		kept := candidates[:0]
		for i, from := range candidates {
			if values[i] <= s.f[t]+penalty {
				kept = append(kept, from)
			}
		}
		candidates = append(kept, int32(t-minimum+1))
	}
	return s
}

// shape is a kind of series PELT meets.
type shape struct {
	name string
	make func(r *rand.Rand, n int) []float64
}

func steps(r *rand.Rand, n, changes int, sd float64) []float64 {
	x := make([]float64, n)
	level, spread := 1.0, sd
	for i := range x {
		if changes > 0 && i%max(n/(changes+1), 1) == 0 {
			level, spread = 1+r.Float64()/10, sd*math.Exp(r.NormFloat64())
		}
		x[i] = level + spread*r.NormFloat64()
	}
	return x
}

func mapped(f func(r *rand.Rand, i, n int) float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = f(r, i, n)
		}
		return x
	}
}

func stepped(changes int, sd float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 { return steps(r, n, changes, sd) }
}

func scaled(by float64, of func(*rand.Rand, int) []float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		x := of(r, n)
		for i := range x {
			x[i] *= by
		}
		return x
	}
}

func rounded(to float64, of func(*rand.Rand, int) []float64) func(*rand.Rand, int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		x := of(r, n)
		for i := range x {
			x[i] = math.Round(x[i]/to) * to
		}
		return x
	}
}

var shapes = []shape{
	{"no change", stepped(0, 0.01)},
	{"3 changes", stepped(3, 0.01)},
	{"30 changes", stepped(30, 0.01)},
	{"huge", scaled(1e100, stepped(5, 0.01))},
	{"tiny", scaled(1e-9, stepped(5, 0.01))},
	{"squares underflow", scaled(1e-165, stepped(5, 0.01))},
	{"large mean, small spread", stepped(2, 1e-9)},
	{"large mean, spread of rounding", stepped(2, 1e-15)},
	{"constant 1", mapped(func(*rand.Rand, int, int) float64 { return 1 })},
	{"constant 0.1", mapped(func(*rand.Rand, int, int) float64 { return 0.1 })},
	{"constant 0", mapped(func(*rand.Rand, int, int) float64 { return 0 })},
	{"coarse clock", rounded(0.01, stepped(4, 0.01))},
	{"coarse dyadic clock", rounded(1.0/128, stepped(4, 0.01))},
	{"very coarse clock", rounded(0.05, stepped(1, 0.01))},
	{"two values", mapped(func(r *rand.Rand, _, _ int) float64 { return float64(1 + r.IntN(2)) })},
	{"alternating", mapped(func(_ *rand.Rand, i, _ int) float64 { return float64(1 + i%2) })},
	{"integers", mapped(func(r *rand.Rand, i, n int) float64 { return float64(r.IntN(5) + i*7/n*3) })},
	{"ramp", mapped(func(r *rand.Rand, i,
		n int) float64 {
		return 1 + float64(i)/float64(n) + 0.01*r.NormFloat64()
	})},
	{"sine", mapped(func(r *rand.Rand, i,
		n int) float64 {
		return 2 + math.Sin(float64(i)/20) + 0.1*r.NormFloat64()
	})},
	{"exponential warmup",
		mapped(func(r *rand.Rand, i,
			n int) float64 {
			return 1 + 5*math.Exp(-float64(i)/10) + 0.01*r.NormFloat64()
		})},
	{"heavy tails", mapped(func(r *rand.Rand, _,
		_ int) float64 {
		return r.NormFloat64() / (r.Float64() + 1e-3)
	})},
	{"random walk", func(r *rand.Rand, n int) []float64 {
		x := make([]float64, n)
		for i := 1; i < n; i++ {
			x[i] = x[i-1] + r.NormFloat64()
		}
		return x
	}},
	{"spikes in a constant", mapped(func(r *rand.Rand, i, _ int) float64 {
		if r.IntN(50) == 0 {
			return 2
		}
		return 0.5
	})},
	{"constant stretches in noise", func(r *rand.Rand, n int) []float64 {
		x := steps(r, n, 0, 0.01)
		for i := range x {
			if i/40%3 == 1 {
				x[i] = 1.25
			}
		}
		return x
	}},
	{"constant stretches in small noise", func(r *rand.Rand, n int) []float64 {
		x := steps(r, n, 0, 1e-7)
		for i := range x {
			if i/40%3 == 1 {
				x[i] = 0.3
			}
		}
		return x
	}},
	{"negative", scaled(-3, stepped(5, 0.3))},
}

// peltOptions are the kinds of runs the two implementations are compared in.
func peltOptions() []Options {
	var all []Options
	for _, penalty := range []Penalty{LogN(15), LogN(4), Manual(0), Manual(1e6), MBIC, Manual(2.5)} {
		all = append(all, peltOptionsOf(penalty)...)
	}
	return all
}

func peltOptionsOf(penalty Penalty) []Options {
	return []Options{
		{Penalty: penalty},
		{Penalty: penalty, Arithmetic: Stable},
		{Penalty: penalty, MinSegment: 5},
		{Penalty: penalty, Cost: Mean},
		{Penalty: penalty, Cost: EmpiricalDistribution},
	}
}

// samePELT compares the two implementations bit for bit.
func samePELT(series []float64, o Options) error {
	p, err := newProblem(series, o)
	if err != nil {
		return err
	}
	penalty, err := o.Penalty.penalty(p.n, o.Cost)
	if err != nil {
		return err
	}
	want := peltPlain(p.cost, p.n, p.minimum, penalty)
	got := p.solve(penalty)
	for t := range want.f {
		if got.f[t] != want.f[t] || got.last[t] != want.last[t] {
			return fmt.Errorf("at %d of %d: F = %v from %d, R has %v from %d", t, p.n, got.f[t], got.last[t],
				want.f[t], want.last[t])
		}
	}
	return nil
}

// comparePELT compares both implementations on the given number of series of every shape.
func comparePELT(t *testing.T, seed uint64, rounds, longest int) {
	runs := 0
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(len(shape.name))))
			for round := range rounds {
				series := shape.make(r, 10+r.IntN(longest/(1+round%3)))
				for _, o := range peltOptions() {
					must.Do(t, samePELT(series, o), "seed", seed, "round", round, o)
					runs++
				}
			}
		})
	}
	t.Logf("%d runs on %d series compared", runs, rounds*len(shapes))
}

// TestGroupedPELTIsPlainPELT is repeated with thousands of series under the tag slow.
func TestGroupedPELTIsPlainPELT(t *testing.T) { comparePELT(t, 7, 6, 240) }

// jumps are levels far apart, every one of them found.
func jumps(r *rand.Rand, n, changes int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1 + 5*float64(i*(changes+1)/n%2) + 0.01*r.NormFloat64()
	}
	return x
}

var benchmarks = []struct {
	name       string
	n, changes int
}{
	{"2000 no change", 2000, 0},
	{"2000 10 changes", 2000, 10},
	{"2000 100 changes", 2000, 100},
	{"100000 no change", 100000, 0},
	{"1000000 no change", 1000000, 0},
}

// jumpsOf makes series for a benchmark that takes turns with them, so that no processor learns the
// branches of one.
func jumpsOf(n, changes int) [][]float64 {
	r := rand.New(rand.NewPCG(1, 1))
	all := make([][]float64, max(1, 100000/n))
	for i := range all {
		all[i] = jumps(r, n, changes)
	}
	return all
}

func BenchmarkDetect(b *testing.B) {
	for _, c := range benchmarks {
		all := jumpsOf(c.n, c.changes)
		b.Run(c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				found, err := Detect(all[i%len(all)], Options{Penalty: LogN(15)})
				must.Need(b, err == nil && len(found.Segments) == c.changes+1, found, err)
			}
		})
	}
}

// BenchmarkPlain is the recursion as R runs it, without R around it.
func BenchmarkPlain(b *testing.B) {
	for _, c := range benchmarks[:3] {
		all := jumpsOf(c.n, c.changes)
		b.Run(c.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				p := must.Get(newProblem(all[i%len(all)], Options{}))(b)
				peltPlain(p.cost, p.n, p.minimum, 114)
			}
		})
	}
}

// TestConstantWithRoundedSquares compares with the recursion of the R package written out in R
// 4.2.2 (base functions only). The value is constant and not a double that squares exactly, so
// every number that is compared differs by rounding alone, and one unit in the last place anywhere
// (of log 2π, say) gives other changepoints.
func TestConstantWithRoundedSquares(t *testing.T) {
	found := must.Get(Detect(slices.Repeat([]float64{4885.133804}, 850), Options{Penalty: LogN(15)}))(t)
	want := []int{37, 67, 92, 121, 153, 179, 224, 251, 290, 296, 335, 362, 389, 426, 453, 480, 527, 554, 581,
		608,
		615, 642, 669, 692, 719, 745, 771, 797, 802, 831, 850}
	must.EqualList(t, ends(found), want, "segments end at", "R has")
	must.Equal(t, found.Cost, -15888.828923390971, "cost", "R has -15888.828923390971")
}
