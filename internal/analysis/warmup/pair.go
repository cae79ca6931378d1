package warmup

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/bootstrap"
	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/outlier"
	"krund/internal/analysis/steady"
)

// prepared is a pair before its analysis.
type prepared struct {
	pair   *dataset.Pair
	series []series // of each execution; empty if it cannot be analyzed
	result Pair     // with the executions that cannot be analyzed filled in
	first  int      // iterations of the first execution that can be analyzed
}

// prepare reads a pair's executions and determines which can be analyzed.
func prepare(pair *dataset.Pair, p Parameters) *prepared {
	w := &prepared{
		pair:   pair,
		series: make([]series, len(pair.Executions)),
		result: Pair{
			Key: pair.Key.String(), Benchmark: pair.Key.Benchmark, VM: pair.Key.VM, Variant: pair.Key.Variant,
			Arm: pair.Key.Arm, Instrument: pair.Instrument(),
			Executions: make([]Execution, len(pair.Executions)), Warnings: []Warning{},
		},
	}
	for i := range pair.Executions {
		e := &pair.Executions[i]
		s, status, problem := read(e, p.Column)
		if e.Instrument != pair.Instrument() && status == Analysed {
			status, problem = Refused, fmt.Sprintf("it was %s and the first execution was %s; they are not "+
				"mixed", dataset.InstrumentText(e.Instrument), dataset.InstrumentText(pair.Instrument()))
		}
		if status != Analysed {
			n := 0
			if len(e.Columns) > 0 {
				n = e.Columns[0].Len()
			}
			w.result.Executions[i] = notAnalyzed(Execution{Number: e.Number, Outcome: string(e.Outcome),
				Iterations: n}, status, problem)
			continue
		}
		w.series[i] = s
		if w.first == 0 {
			w.first = len(s.values)
		}
	}
	return w
}

// analyze analyzes execution i. Calls for different executions may run concurrently.
func (w *prepared) analyze(i int, p Parameters) {
	if w.series[i].values == nil {
		return
	}
	n := w.first // as in warmup_stats, of the first execution
	if p.Mode == classify.Relative {
		n = len(w.series[i].values)
	}
	w.result.Executions[i] = analyzeExecution(&w.pair.Executions[i], &w.series[i], n, p)
}

// finish combines the results of all executions.
func (w *prepared) finish(p Parameters, o Options) Pair {
	r := &w.result
	var all [][]int
	for i := range r.Executions {
		all = append(all, r.Executions[i].Outliers)
	}
	common, _ := outlier.Split(all, 1)
	for i := range r.Executions {
		r.Executions[i].CommonOutliers = common[i]
	}
	r.count()
	r.reachSteadyState()
	if r.steady() && !o.NoPerformance {
		w.performance(p, o)
	}
	r.Warnings = append(r.Warnings, pairWarnings(w, p)...)
	return *r
}

// count fills in what is counted over the executions.
func (r *Pair) count() {
	var classes []classify.Class
	for i := range r.Executions {
		e := &r.Executions[i]
		r.Status.add(e.Status)
		if e.Status != Analysed {
			continue
		}
		classes = append(classes, e.Classification)
		r.Georges.add(e)
	}
	r.Counts = classify.Count(classes)
	r.Classification = r.Counts.Class()
	r.Iterations = sameLength(r.Executions)
	r.Levels = levelsOf(r.Executions)
}

// steady reports whether all analyzed executions are steady.
func (r *Pair) steady() bool { return r.Status.Analysed > 0 && r.Counts.NoSteadyState == 0 }

// levelsOf summarizes the executions' levels; nil when there are none.
func levelsOf(executions []Execution) *Levels {
	var values []float64
	l := &Levels{}
	for i := range executions {
		if level := executions[i].Level; level != nil {
			values = append(values, level.Value)
			l.Steady += arith.One(level.Rule == steady.SteadyState)
		}
	}
	if len(values) == 0 {
		return nil
	}
	l.Spread, l.Count = arith.SpreadOf(values), len(values)
	l.Mean = arith.Sum(values) / float64(len(values))
	return l
}

// reachSteadyState fills in when pairs whose executions are all steady, and not all flat, become
// steady.
func (r *Pair) reachSteadyState() {
	if !r.steady() || r.Counts.Flat == r.Status.Analysed {
		return
	}
	var iterations, seconds []float64
	for _, e := range r.Executions {
		if e.Steady != nil {
			iterations = append(iterations, float64(e.Steady.Iteration))
			seconds = append(seconds, float64(e.Steady.Seconds))
		}
	}
	spread := arith.SpreadOf(iterations)
	r.SteadyIteration = &spread
	if spread := arith.SpreadOf(seconds); !math.IsNaN(spread.Median + spread.P5 + spread.P95) {
		r.SteadySeconds = &spread
	}
}

// performance fills in the steady performance of a pair whose executions are all steady.
func (w *prepared) performance(p Parameters, o Options) {
	r := &w.result
	interval, err := bootstrap.Mean(w.steadyValues(), p.bootstrap(o.Workers))
	if err != nil {
		r.Warnings = append(r.Warnings, Warning{"no_performance", "steady performance: " + err.Error()})
		return
	}
	r.SteadyPerformance = &Performance{
		Mean: interval.Mean, Half: interval.Half, Low: interval.Low, High: interval.High,
		Scheme: p.Scheme, Resamples: interval.Resamples,
	}
}

// steadyValues returns the values of each steady execution by segment.
func (w *prepared) steadyValues() [][][]float64 {
	var values [][][]float64
	for i, e := range w.result.Executions {
		if e.Steady != nil {
			values = append(values, steady.Values(w.series[i].values, e.Outliers, e.Steady.Ranges))
		}
	}
	return values
}

func (c *StatusCounts) add(s Status) {
	switch s {
	case Analysed:
		c.Analysed++
	case NotCompleted:
		c.NotCompleted++
	case NoIterations:
		c.NoIterations++
	case Refused:
		c.Refused++
	}
}

func (g *GeorgesCount) add(e *Execution) {
	if !e.Georges.Found {
		return
	}
	g.Steady++
	if e.Classification == classify.NoSteadyState {
		g.SteadyWithout++
	}
}

// sameLength returns the number of iterations if it is the same in all analyzed executions, else
// nil.
func sameLength(executions []Execution) *int {
	var n *int
	for i := range executions {
		e := &executions[i]
		if e.Status != Analysed {
			continue
		}
		if n != nil && *n != e.Iterations {
			return nil
		}
		n = new(e.Iterations)
	}
	return n
}

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
