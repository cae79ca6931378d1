package replay

import (
	"slices"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/analysis/warmupend"
	"krund/internal/exchange"
)

// Injected takes the place of a file of annotations: series get known ends of warm-up.
const Injected = "injected"

// fork names an annotated execution.
type fork struct {
	benchmark string
	number    int
}

// Annotations are the forks of a file of annotations.
type Annotations struct {
	rows  []exchange.SteadyState
	start map[fork]int // of the steady state; -1: none
}

// Annotated reads annotations; nil for injected steps.
func Annotated(truth string) (*Annotations, error) {
	if truth == Injected {
		return nil, nil //nolint:nilnil // nothing is annotated
	}
	rows, err := exchange.ReadSteadyStatesFile(truth)
	if err != nil {
		return nil, err
	}
	n := &Annotations{rows: rows, start: map[fork]int{}}
	for i, s := range rows {
		rows[i].Benchmark = exchange.PlainName(s.Benchmark) // as in keys
		at := fork{rows[i].Benchmark, s.Number}
		if n.start[at] = -1; s.Steady {
			n.start[at] = s.Start
		}
	}
	return n, nil
}

// Techniques returns what the techniques in the file do, of all forks and of the executions here.
func (n *Annotations) Techniques(list []warmupend.LabeledSeries) []warmupend.Row {
	here := map[fork]bool{}
	for _, e := range list {
		here[fork{e.Key, e.Number}] = true
	}
	var rows []warmupend.Row
	for _, which := range []string{", whole file", ", these"} {
		from := len(rows)
		for _, s := range n.rows {
			if !s.Steady || s.Technique == "" || from > 0 && !here[fork{s.Benchmark, s.Number}] {
				continue
			}
			name := s.Technique + which
			at := slices.IndexFunc(rows, func(r warmupend.Row) bool { return r.Policy == name })
			if at < 0 {
				at = len(rows)
				rows = append(rows, warmupend.Row{Policy: name})
			}
			rows[at].Count(s.Seconds, warmupend.IsOff(s.Low, s.High))
		}
	}
	return rows
}

// KnownStarts returns the executions whose steady state is known: from annotations, or if they are
// nil from the analysis.
func KnownStarts(d *dataset.Dataset, known *Annotations, workers int) ([]warmupend.LabeledSeries, error) {
	var list []warmupend.LabeledSeries
	for i := range d.Pairs {
		series := warmup.SeriesOf(&d.Pairs[i], dataset.Wall)
		for k, values := range series.Series {
			e := warmupend.LabeledSeries{Key: series.Key.Benchmark, Number: series.Numbers[k], Values: values,
				Start: -1}
			if known != nil {
				if at, ok := known.start[fork{e.Key, e.Number}]; ok {
					e.Start = at
				}
			}
			list = append(list, e)
		}
	}
	if known == nil {
		if err := warmupend.FindStarts(list, workers); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(e warmupend.LabeledSeries) bool {
		return e.Start < 0 || e.Start >= len(e.Values)
	}), nil
}
