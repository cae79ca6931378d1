package warmupend

import (
	"fmt"

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
			if k == 0 {
				k = p.WarmupMax
			}
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
