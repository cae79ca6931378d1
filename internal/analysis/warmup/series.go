package warmup

import (
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
)

// KeySeries holds one column of the executions of a key.
type KeySeries struct {
	Key     key.Key
	Numbers []int       // numbers of the usable executions
	Series  [][]float64 // their values, one slice for each
	LeftOut []LeftOut   // the other executions; never nil
}

// LeftOut is an execution that cannot be used, with the reason.
type LeftOut struct {
	Execution int    `json:"execution"`
	Problem   string `json:"problem"`
}

// SeriesOf returns a column of the completed executions of a key.
func SeriesOf(p *dataset.Pair, column string) KeySeries {
	s := KeySeries{Key: p.Key, LeftOut: []LeftOut{}}
	for i := range p.Executions {
		e := &p.Executions[i]
		values, _, _, problem := Series(e, column)
		if problem != "" {
			s.LeftOut = append(s.LeftOut, LeftOut{e.Number, problem})
			continue
		}
		s.Numbers = append(s.Numbers, e.Number)
		s.Series = append(s.Series, values)
	}
	return s
}

// NumbersOf converts indexes of Series to numbers of executions.
func (s *KeySeries) NumbersOf(index []int) []int {
	numbers := make([]int, len(index))
	for i, k := range index {
		numbers[i] = s.Numbers[k]
	}
	return numbers
}
