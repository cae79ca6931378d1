package warmupend

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/stability"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

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
