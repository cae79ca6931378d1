package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// generated is a key with known causes.
type generated struct {
	pair     dataset.Pair
	injected [][]int // by execution: iterations with the cause, or the first one after the change
}

// nature is what a generated VM does without an injected cause.
type nature struct {
	n, executions int
	warm          bool    // a slow first segment, which ends without a cause
	odd           float64 // share of iterations that are slow without a cause
	// crowd: more changepoints and slow iterations without a cause, mostly at the beginning. Both
	// they and the events there become rarer with a time constant between 5 iterations and a tenth
	// of the series.
	crowd bool
	// copies: all executions of a key have their events, changepoints and slow iterations in the
	// same iterations.
	copies bool
	// same: the injected cause is in the same iterations of all executions of a key, as that of a
	// program which always does the same.
	same bool
}

// plan is what the executions of a key have in common.
type plan struct {
	constant float64 // time constant of the beginning, iterations
	seed     uint64
}

func (v nature) plan(random *rand.Rand) plan {
	p := plan{constant: 0.04 * float64(v.n)}
	if v.crowd {
		p = plan{constant: 5 * math.Pow(float64(v.n)/50, random.Float64()), seed: random.Uint64()}
	}
	return p
}

// early is 1 in the first iteration, and then smaller and smaller.
func (p *plan) early(i int) float64 { return math.Exp(-float64(i) / p.constant) }

// at returns the source of what happens in iteration i: that of the execution, or the same for all.
func (v nature) at(p plan, random *rand.Rand, i int) *rand.Rand {
	if v.copies {
		return rand.New(rand.NewPCG(p.seed, uint64(i)))
	}
	return random
}

// execution generates an execution of a VM that compiles, loads classes and collects garbage,
// mostly at the beginning, without any effect on the wall times, which have correlated noise of 1
// %. What it does is spread evenly over time: a long iteration has more of it.
func (v nature) execution(random *rand.Rand, p plan) *dataset.Execution {
	n := v.n
	wall := v.times(random, p)
	counts := func(mean float64) []int64 {
		c := make([]int64, n)
		for i := range c {
			limit := math.Exp(-mean * float64(wall[i]) / 1e6)
			for p := random.Float64(); p > limit; p *= random.Float64() { // Poisson (Knuth 1969)
				c[i]++
			}
		}
		return c
	}
	e := &dataset.Execution{Outcome: results.Completed, Instrument: "events", Columns: []dataset.Column{
		{Name: dataset.Wall, Unit: dataset.Nanoseconds, Core: dataset.NoCore, Ints: wall},
		{Name: "minor_faults", Core: dataset.NoCore, Ints: counts(0.3 + 2*random.Float64())},
		{Name: "voluntary_switches", Core: dataset.NoCore, Ints: counts(0.3 * random.Float64())},
		{Name: "involuntary_switches", Core: dataset.NoCore, Ints: counts(0.02)},
		{Name: "timer_interrupts", Core: dataset.NoCore, Ints: counts(0.25)},
		{Name: "instructions", Core: dataset.NoCore, Ints: level(random, n, 3e6, 0.002)},
		{Name: "cycles", Core: dataset.NoCore, Ints: level(random, n, 2e6, 0.01)},
	}}
	restart(e)
	for i := range n {
		early, happens := p.early(i), v.at(p, random, i)
		add := func(p float64, kind, name string, length float64) {
			if happens.Float64() < p*float64(wall[i])/1e6 {
				e.Events = append(e.Events, results.Event{Kind: kind, Name: name,
					TimeNS:     e.Starts[i] + int64(happens.Float64()*float64(wall[i])),
					DurationNS: int64(length * (0.5 + happens.Float64()))})
			}
		}
		add(0.6*early+0.01, "compile", "method"+string(rune('a'+happens.IntN(26))), 3e5)
		add(0.5*early, "load", "class", 5e4)
		add(0.1*early, "deopt", "guard", 0)
		add(0.15, "gc", "minor", 2e3)
		add(0.02, "switch", "kworker", 3e3)
		add(0.05, "irq", "timer", 1e3)
	}
	return e
}

// times generates wall times.
func (v nature) times(random *rand.Rand, p plan) []int64 {
	wall := make([]int64, v.n)
	drift, speed := 0.0, 1.0
	for i := range wall {
		drift = 0.7*drift + random.NormFloat64()
		t := 1e6 * (1 + 0.005*drift + 0.007*random.NormFloat64())
		if v.warm && i < v.n/8 {
			t *= 1.4
		}
		happens, odd := v.at(p, random, -1-i), v.odd
		if v.crowd {
			odd *= 1 + 5*p.early(i)
			if happens.Float64() < 3*p.early(i)/p.constant { // three changepoints on average
				speed /= 1.05 + 0.3*happens.Float64()
			}
		}
		t *= speed
		if happens.Float64() < odd {
			t *= 1.3 + 4*happens.Float64()
		}
		wall[i] = int64(t)
	}
	return wall
}

func level(random *rand.Rand, n int, mean, noise float64) []int64 {
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(mean * (1 + noise*random.NormFloat64()))
	}
	return v
}

// restart sets the start stamps again after wall times were changed; events keep their iteration.
func restart(e *dataset.Execution) {
	wall := e.Columns[0].Ints
	starts := make([]int64, len(wall))
	at := int64(1e9)
	for i, w := range wall {
		starts[i] = at
		at += w + 2000
	}
	for k := range e.Events {
		ev := &e.Events[k]
		next := slices.IndexFunc(e.Starts, func(s int64) bool { return s > ev.TimeNS })
		i := min(len(wall)-1, max(0, next-1))
		ev.TimeNS += starts[i] - e.Starts[i]
	}
	e.Starts = starts
}

// add adds to a column in an iteration.
func add(e *dataset.Execution, column string, i int, by int64) {
	c, _ := e.Column(column, dataset.NoCore)
	c.Ints[i] += by
}

// event adds an event in iteration i.
func event(e *dataset.Execution, kind, name string, i int, duration int64) {
	e.Events = append(e.Events, results.Event{Kind: kind, Name: name, TimeNS: e.Starts[i] + 1000,
		DurationNS: duration})
}

// pulses are the iterations of a cause that recurs every 50 iterations.
func pulses(n, seed int) []int {
	var at []int
	for i := 10 + seed%40; i < n; i += 50 {
		at = append(at, i)
	}
	return at
}

// slower makes iterations [from, to) slower by a factor.
func slower(e *dataset.Execution, from, to int, by float64) {
	for i := from; i < to; i++ {
		e.Columns[0].Ints[i] = int64(by * float64(e.Columns[0].Ints[i]))
	}
}

// injection makes an execution slow by a cause and returns the iterations.
type injection struct {
	cause  Cause
	target Target
	into   func(random *rand.Rand, e *dataset.Execution, seed int) []int
}

// pulsed injects a cause of outliers.
func pulsed(cause Cause, one func(random *rand.Rand, e *dataset.Execution, i int)) injection {
	return injection{cause, Outliers, func(random *rand.Rand, e *dataset.Execution, seed int) []int {
		at := pulses(len(e.Starts), seed)
		for _, i := range at {
			slower(e, i, i+1, 1.5+2*random.Float64())
		}
		restart(e)
		for _, i := range at {
			one(random, e, i)
		}
		return at
	}}
}

// stepped injects a cause of a changepoint.
func stepped(cause Cause, by float64, one func(random *rand.Rand, e *dataset.Execution, i int)) injection {
	return injection{cause, Changepoints, func(random *rand.Rand, e *dataset.Execution, seed int) []int {
		n := len(e.Starts)
		at := n/3 + (37*seed)%(n/3)
		slower(e, at, n, by)
		restart(e)
		one(random, e, at)
		return []int{at}
	}}
}

// injections are the causes with what they do to the evidence, besides the wall times.
var injections = []injection{
	pulsed(GC, func(random *rand.Rand, e *dataset.Execution, i int) {
		event(e, "gc", "major", i, int64(0.4*float64(e.Columns[0].Ints[i])))
		add(e, "minor_faults", i, int64(random.IntN(20)))
		add(e, "voluntary_switches", i, int64(random.IntN(2)))
	}),
	pulsed(Faults, func(random *rand.Rand, e *dataset.Execution, i int) {
		add(e, "minor_faults", i, 500+int64(random.IntN(1500)))
	}),
	pulsed(Sleep, func(random *rand.Rand, e *dataset.Execution, i int) {
		add(e, "voluntary_switches", i, 2)
		if random.IntN(2) == 0 {
			event(e, "switch", "swapper", i, 0)
		}
	}),
	pulsed(Competitor, func(random *rand.Rand, e *dataset.Execution, i int) {
		add(e, "involuntary_switches", i, 1+int64(random.IntN(3)))
		event(e, "switch", "stress", i, 3e5)
	}),
	stepped(Compile, 0.7, func(random *rand.Rand, e *dataset.Execution, i int) {
		event(e, "compile", "run_iter", i-1, 2e5)
		for j := i; j < len(e.Starts); j++ {
			add(e, "instructions", j, -9e5)
		}
	}),
	stepped(Deopt, 1.4, func(random *rand.Rand, e *dataset.Execution, i int) {
		event(e, "deopt", "work", i, 0)
		event(e, "compile", "work", min(i+20+random.IntN(20), len(e.Starts)-1), 2e5)
	}),
	stepped(Faults, 1.3, func(_ *rand.Rand, e *dataset.Execution, i int) {
		for j := i; j < len(e.Starts); j++ {
			add(e, "minor_faults", j, 100)
		}
	}),
	stepped(Frequency, 1.25, func(random *rand.Rand, e *dataset.Execution, i int) {
		n := len(e.Starts)
		mperf, aperf := level(random, n, 2e6, 0.002), level(random, n, 2e6, 0.002)
		for j := i; j < n; j++ {
			mperf[j] += mperf[j] / 4
		}
		e.Columns = append(e.Columns, dataset.Column{Name: dataset.MPERF, Core: dataset.NoCore, Ints: mperf},
			dataset.Column{Name: dataset.APERF, Core: dataset.NoCore, Ints: aperf})
	}),
	stepped(Competitor, 1.8, func(random *rand.Rand, e *dataset.Execution, i int) {
		for j := i; j < len(e.Starts); j++ {
			add(e, "involuntary_switches", j, int64(random.IntN(3)))
		}
	}),
}

// generate makes a key whose executions have an injected cause; a nil injection makes none.
func (v nature) generate(random *rand.Rand, in *injection) generated {
	g := generated{pair: dataset.Pair{Key: key.Key{Benchmark: "b", VM: "V", Variant: "v"}}}
	p := v.plan(random)
	seed := random.IntN(100)
	for x := range v.executions {
		e := v.execution(random, p)
		e.Number = x + 1
		var at []int
		if in != nil {
			if !v.same {
				seed = random.IntN(100)
			}
			at = in.into(random, e, seed)
		}
		slices.SortStableFunc(e.Events, func(a, b results.Event) int { return int(a.TimeNS - b.TimeNS) })
		g.pair.Executions = append(g.pair.Executions, *e)
		g.injected = append(g.injected, at)
	}
	return g
}

// shifted shifts all evidence of each execution by the same random number of iterations.
func (g *generated) shifted(random *rand.Rand) {
	for x := range g.pair.Executions {
		e := &g.pair.Executions[x]
		*e = shifted(e, random.IntN(len(e.Starts)))
	}
}

// explained analyzes and explains a generated key.
func (g *generated) explained(p Parameters) Key {
	data := &dataset.Dataset{Pairs: []dataset.Pair{g.pair}}
	doc, err := warmup.Analyze(data, warmup.Default(classify.Relative), warmup.Options{NoPerformance: true})
	if err != nil {
		panic(err)
	}
	return OfKey(&g.pair, &doc.Pairs[0], dataset.Wall, p)
}

// score counts how the targets of a key are named.
type score struct {
	injected, found, right, wrong, elsewhere int
}

// score compares the findings with what was injected. found are the injected ones that the analysis
// found; wrong those with another cause; elsewhere are findings with a cause that was not injected
// there.
func (g *generated) score(k *Key, in *injection) score {
	var s score
	for x, e := range k.Executions {
		s.injected += len(g.injected[x])
		for _, t := range []Target{Outliers, Changepoints} {
			list := e.Outliers
			if t == Changepoints {
				list = e.Changepoints
			}
			for _, f := range list {
				by := slices.ContainsFunc(g.injected[x], func(i int) bool {
					return f.Iteration == i || t == Changepoints && f.Iteration >= i-near &&
						f.Iteration <= i+near
				})
				is := by && t == in.target
				named := f.Cause != "" && !f.Cause.Symptom() && !(by && f.Cause == in.cause && !is)
				switch {
				case is && f.Cause == in.cause:
					s.found++
					s.right++
				case is:
					s.found++
					if named {
						s.wrong++
					}
				case named:
					s.elsewhere++
				}
			}
		}
	}
	return s
}

// BenchmarkKey explains a key of the study's size: 30 executions of 2,000 iterations with 10,000
// events each, of 500 names.
func BenchmarkKey(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	g := nature{n: 2000, executions: 30, warm: true, odd: 0.01}.generate(random, &injections[0])
	for x := range g.pair.Executions {
		e := &g.pair.Executions[x]
		for len(e.Events) < 10_000 {
			kind := []string{"gc", "compile", "load", "switch"}[random.IntN(4)]
			event(e, kind, fmt.Sprint("name", random.IntN(500)), random.IntN(2000), 1000)
		}
	}
	data := &dataset.Dataset{Pairs: []dataset.Pair{g.pair}}
	doc := must.Get(
		warmup.Analyze(data, warmup.Default(classify.Relative), warmup.Options{NoPerformance: true}))(b)
	for b.Loop() {
		OfKey(&g.pair, &doc.Pairs[0], dataset.Wall, Default())
	}
}
