package sequential

import (
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
)

// Fill sets the executions of a key to the completed ones of a pair, reduced as compare does.
// analyzed is the pair's analysis. series keeps their iterations, too.
func (k *Key) Fill(p *dataset.Pair, analyzed *warmup.Pair, column string, series bool) {
	k.Executions, k.Series = compare.Executions(p, analyzed, column), nil
	if !series {
		return
	}
	values := map[int][]float64{}
	all := warmup.SeriesOf(p, column)
	for i, n := range all.Numbers {
		values[n] = all.Series[i]
	}
	for _, e := range k.Executions {
		k.Series = append(k.Series, values[e.Number])
	}
}
