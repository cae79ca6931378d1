package summary

import (
	"math"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

// RowsOf describes the keys of a dataset of another tool, whose wall times are in seconds: number,
// outcomes and iterations of the executions, and the durations of the completed ones. Nothing is
// known about the processes.
func RowsOf(d *dataset.Dataset) []Row {
	rows := make([]Row, len(d.Pairs))
	for i := range d.Pairs {
		p := &d.Pairs[i]
		s := state{row: Row{Key: p.Key, Name: p.Key.String(), Planned: len(p.Executions)}}
		for j := range p.Executions {
			s.addExecution(&p.Executions[j])
		}
		s.row.Wall = spread(s.wall)
		rows[i] = s.row
	}
	return rows
}

func (s *state) addExecution(e *dataset.Execution) {
	s.row.Outcomes.add(string(e.Outcome))
	if e.Outcome != results.Completed && e.Outcome != "" {
		return
	}
	values, _ := e.Values(dataset.Wall)
	s.iterations(len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			s.wall = append(s.wall, v*1e9)
		}
	}
}
