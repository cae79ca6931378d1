package experiment

import (
	"fmt"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
)

// addOutstanding reports the executions that are planned and have no result yet, with the keys that
// they are of: a key without any result, as after a rerun, is not in the data at all. A schedule
// that cannot be read is reported by commands that need it.
func addOutstanding(d *dataset.Dataset, e Experiment) {
	s, err := e.OpenSchedule()
	if err != nil {
		return
	}
	defer s.Close() //nolint:errcheck // it was only read
	sum, err := s.Summarize()
	left := sum.Outstanding + sum.Running
	if err != nil || left == 0 {
		return
	}
	const most = 3
	var keys []string
	more := 0
	for _, k := range sum.Keys {
		n := k.Outstanding + k.Running
		switch {
		case n == 0:
		case len(keys) == most:
			more++
		default:
			keys = append(keys, fmt.Sprintf("%d of %s", n, k.Key))
		}
	}
	list := strings.Join(keys, ", ")
	if more > 0 {
		list += " and others of " + display.Count(more, "key")
	}
	d.Problems = append(d.Problems, fmt.Sprintf("the experiment is unfinished: %d of %d executions are "+
		"outstanding (%s); `krund run` continues it", left, sum.Total(), list))
}
