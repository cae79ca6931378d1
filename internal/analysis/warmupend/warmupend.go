// Package warmupend judges where policies end the warm-up of process executions, against starts of
// the steady state that are known from elsewhere: annotations, or steps that were injected. The
// judgments are those of Traini, Cortellessa, Di Pompeo and Tucci, "Towards effective assessment of
// steady state performance in Java software: are we there yet?", EMSE 2023. Start reading at [Of].
package warmupend

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/parallel"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Tolerance is the largest error of an end of warm-up that counts as right, in steps: with steps of
// a second, the study's 5 s.
const Tolerance = 5

// Deviation is the smallest relative error of a result that counts.
const Deviation = 0.05

// LabeledSeries is a series whose steady state is known to begin at an iteration.
type LabeledSeries struct {
	Key    string
	Number int       // from 1
	Values []float64 // seconds
	Start  int       // first steady iteration, from 0
}

// Row counts what a policy does.
type Row struct {
	Policy     string `json:"policy"`
	Executions int    `json:"executions"`
	Within     int    `json:"within"`    // the end of warm-up is at most Tolerance steps off
	Early      int    `json:"too_early"` // by more than that
	Late       int    `json:"too_late"`
	None       int    `json:"no_end"`     // the policy finds no steady state
	Off        int    `json:"result_off"` // the result differs by more than Deviation
}

// Count counts an execution: the error of its end of warm-up in steps, and whether its result is
// off.
func (r *Row) Count(steps float64, off bool) {
	r.Executions++
	switch {
	case math.Abs(steps) <= Tolerance:
		r.Within++
	case steps < 0:
		r.Early++
	default:
		r.Late++
	}
	if off {
		r.Off++
	}
}

// IsOff reports whether a result is off: the interval of its ratio to the steady one does not
// contain 1, and the middle of the interval is farther than Deviation from it.
func IsOff(low, high float64) bool {
	return math.Abs((low+high)/2-1) > Deviation && (low > 1 || high < 1)
}

// Of applies all policies to executions, on the given number of goroutines. p holds the step and
// the limits. Executions that are too short for the longest warm-up and a measurement are left out;
// their number is short.
func Of(list []LabeledSeries, p stability.Parameters, workers int) (rows []Row, short int, err error) {
	if err := p.Check(); err != nil {
		return nil, 0, err
	}
	var long []LabeledSeries
	var cuts []cut
	for _, e := range list {
		if err := stability.CheckSeries(e.Values); err != nil {
			return nil, 0, err
		}
		s := stability.Cut(e.Values, p.Step, p.Batch)
		if s.Len() < p.WarmupMax+p.Measure {
			short++
			continue
		}
		long, cuts = append(long, e), append(cuts, cut{e, s})
	}
	starts, err := found(long, workers)
	if err != nil {
		return nil, 0, err
	}
	ends := make([][]end, len(long))
	parallel.Each(len(long), workers, func(i int) { ends[i] = endsOf(cuts[i], starts[i], p) })
	for _, name := range names() {
		rows = append(rows, Row{Policy: name})
	}
	for i := range ends {
		for k, at := range ends[i] {
			if at.warmup < 0 {
				rows[k].Executions++
				rows[k].None++
				continue
			}
			rows[k].Count(cuts[i].off(at, p))
		}
	}
	return rows, short, nil
}

// cut is an execution divided into steps.
type cut struct {
	LabeledSeries
	steps *stability.Steps
}

// end is where a policy ends warm-up and measurement, in iterations; warmup is -1 if it never does.
type end struct{ warmup, measured int }

// off returns the error of an end of warm-up in steps, and whether the result is off. Like the
// study, it does not count the first steady iteration.
func (c cut) off(at end, p stability.Parameters) (steps float64, off bool) {
	from, to, sign := c.Start+1, at.warmup, 1.0
	if to < from {
		from, to, sign = to, from, -1
	}
	to = min(to, len(c.Values))
	if p.Step.Iterations > 0 {
		steps = float64(to-from) / float64(p.Step.Iterations)
	} else {
		steps = c.steps.Duration(from, to) / p.Step.Seconds
	}
	low, high := ratio(c.Values[at.warmup:at.measured], c.Values[c.Start:])
	return sign * steps, IsOff(low, high)
}

// ratio returns the 95 % interval of the ratio of two means, by the delta method.
func ratio(a, b []float64) (low, high float64) {
	x, dx := mean(a)
	y, dy := mean(b)
	const quantile = 1.959964 // of the normal distribution
	half := quantile * math.Hypot(dx/x, dy/y)
	return x / y * math.Exp(-half), x / y * math.Exp(half)
}

// mean returns the mean of values and its standard error.
func mean(values []float64) (m, err float64) {
	n := float64(len(values))
	for _, v := range values {
		m += v / n
	}
	for _, v := range values {
		err += (v - m) * (v - m)
	}
	return m, math.Sqrt(err / max(n-1, 1) / n)
}

// Format is the version of Document. docs/output.md describes its fields.
const Format = 1

// Document is what the policies do, by truth.
type Document struct {
	Format  int      `json:"format"`
	Sources []string `json:"sources"`
	Step    string   `json:"step"`
	Truths  []Truth  `json:"truths"`
}

// Truth is what the policies do to executions whose steady state is known in one way.
type Truth struct {
	Truth string `json:"truth"` // how it is known
	Short int    `json:"too_short"`
	Rows  []Row  `json:"rows"`
}

// profiles are the rules of a criterion, without those that are equal to another's.
var profiles = map[stability.Criterion][]stability.Profile{
	stability.CV:   {stability.Recommended, stability.Study, stability.Paper},
	stability.RCIW: {stability.Recommended, stability.JMH, stability.Paper},
	stability.KLD:  {stability.Recommended, stability.Study},
}

// equal names the other profiles that have the rule of a profile.
var equal = map[stability.Criterion]map[stability.Profile]string{
	stability.CV:   {stability.Recommended: ", jmh"},
	stability.RCIW: {stability.Recommended: ", study"},
	stability.KLD:  {stability.Recommended: ", paper", stability.Study: ", jmh"},
}

// names returns the names of the policies, in the order of endsOf.
func names() []string {
	var list []string
	for _, c := range stability.Criteria {
		for _, p := range profiles[c] {
			list = append(list, fmt.Sprintf("%s (%s%s)", c, p, equal[c][p]))
		}
	}
	return append(list, "longest warm-up", "krunctl analyze")
}

// endsOf returns where each policy ends warm-up: the criteria, always the longest warm-up, and the
// steady state that the analysis finds.
func endsOf(e cut, start int, p stability.Parameters) []end {
	var list []end
	measured := func(warmup int) end {
		if warmup < 0 {
			return end{warmup: -1}
		}
		// The first step that begins with the measurement or after it.
		k := 0
		for k < e.steps.Len() && e.steps.Start(k) < warmup {
			k++
		}
		last := e.steps.Start(min(k+p.Measure, e.steps.Len()))
		return end{warmup, max(min(warmup+last-e.steps.Start(k), len(e.Values)), warmup+1)}
	}
	for _, c := range stability.Criteria {
		var values []float64
		for _, profile := range profiles[c] {
			p.Profile = profile
			if values == nil || c == stability.KLD { // whose values depend on the profile
				values = stability.Values(e.steps, c, e.Number, p)
			}
			k := stability.Rule{Criterion: c, Profile: profile, Window: p.Window}.Warmup(values, p.WarmupMin)
			k = cmp.Or(k, p.WarmupMax)
			list = append(list, measured(e.steps.Start(k)))
		}
	}
	return append(list, measured(e.steps.Start(p.WarmupMax)), measured(start))
}

// FindStarts sets the Start of each execution to where the analysis finds it; -1 if it finds none.
func FindStarts(list []LabeledSeries, workers int) error {
	starts, err := found(list, workers)
	for i := range starts {
		list[i].Start = starts[i]
	}
	return err
}

// found returns where the analysis finds the beginning of the steady state, from 0; -1 if it finds
// none. Each execution is analyzed on its own.
func found(list []LabeledSeries, workers int) ([]int, error) {
	d := &dataset.Dataset{}
	for i, e := range list {
		wall := dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
			Reals: e.Values}
		d.Add(key.Key{Benchmark: fmt.Sprint("e", i), VM: "x", Variant: "x"}, dataset.Execution{Number: 1,
			Outcome: results.Completed, Columns: []dataset.Column{wall}})
	}
	doc, err := warmup.Analyze(d, warmup.Default(classify.Relative),
		warmup.Options{NoPerformance: true, Workers: workers})
	if err != nil {
		return nil, err
	}
	starts := make([]int, len(list))
	for i := range doc.Pairs {
		starts[i] = -1
		if s := doc.Pairs[i].Executions[0].Steady; s != nil {
			starts[i] = s.Iteration - 1
		}
	}
	return starts, nil
}

// Heights are the relative heights of injected steps.
var Heights = []float64{0.05, 0.2, 1}

// block is the number of successive iterations that are drawn together, so that short-range
// dependence remains.
const block = 10

// fewest is the number of steady iterations that an injection needs to draw from.
const fewest = 20 * block

// Inject makes, of each execution, a series without any change but one: blocks of its steady
// iterations in random order (with replacement), of which the first ones are slower by height. How
// many is random, between 2 and nine tenths of the longest warm-up in steps, on a logarithmic
// scale. Executions with too few steady iterations are left out.
func Inject(list []LabeledSeries, height float64, p stability.Parameters, seed uint64) []LabeledSeries {
	r := rand.New(rand.NewPCG(seed, math.Float64bits(height)))
	var made []LabeledSeries
	for _, e := range list {
		steady := e.Values[min(e.Start, len(e.Values)):]
		if len(steady) < fewest {
			continue
		}
		e.Values = make([]float64, 0, len(e.Values)+block)
		for len(e.Values) < cap(e.Values)-block {
			at := r.IntN(len(steady) - block + 1)
			e.Values = append(e.Values, steady[at:at+block]...)
		}
		slower := make([]float64, len(e.Values))
		for i, v := range e.Values {
			slower[i] = v * (1 + height)
		}
		s := stability.Cut(slower, p.Step, p.Batch)
		if s.Len() < p.WarmupMax+p.Measure {
			continue
		}
		const least = 2
		k := least * math.Pow(0.9*float64(p.WarmupMax)/least, r.Float64())
		from, to := s.Start(int(k)), s.Start(int(k)+1)
		e.Start = from + int((k-math.Floor(k))*float64(to-from))
		copy(e.Values[:e.Start], slower)
		made = append(made, e)
	}
	return made
}
