package sequential

import (
	"slices"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/key"
)

// Fill sets the executions of a key to the completed ones of a pair, reduced as compare does.
// analyzed is the pair's analysis. series keeps their iterations, too.
func (k *Key) Fill(p *dataset.Pair, analyzed *warmup.Pair, column string, series bool) {
	values := map[int][]float64{}
	if series {
		all := warmup.SeriesOf(p, column)
		for i, n := range all.Numbers {
			values[n] = all.Series[i]
		}
	}
	k.Executions = nil
	for _, e := range compare.Executions(p, analyzed, column) {
		k.Executions = append(k.Executions, Execution{Execution: e, Series: values[e.Number]})
	}
}

// GroupsOf returns the keys of a data set with their analysis, the arms of each key together.
// series is that of Fill.
func GroupsOf(d *dataset.Dataset, doc *warmup.Document, series bool) []Group {
	var groups []Group
	at := map[key.Key]int{}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		k := Key{Name: p.Key, Null: slices.ContainsFunc(d.Arms, func(a dataset.Arm) bool {
			return a.Null && a.Name == p.Key.Arm
		})}
		k.Fill(p, &doc.Pairs[i], doc.Parameters.Column, series)
		all := p.Key
		all.Arm = ""
		g, ok := at[all]
		if !ok {
			g = len(groups)
			at[all], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], k)
	}
	return groups
}
