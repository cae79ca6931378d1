package explain

import (
	"slices"
	"sort"

	"krund/internal/analysis/dataset"
)

// shifted returns an execution whose wall times are those of e, and whose evidence (all other
// columns, and the events) is moved by so many iterations, from 0 to their number less 1, around
// the end of the series. Nothing of the evidence has to do with the series then, unless both recur:
// a control of the error rate. Executions with columns of other lengths, or whose times are
// unknown, are returned as they are.
func shifted(e *dataset.Execution, by int) dataset.Execution {
	n := len(e.Starts)
	moved := *e
	if by <= 0 || by >= n {
		return moved
	}
	moved.Columns, moved.Events = nil, nil
	for _, c := range e.Columns {
		if c.Len() != n {
			return *e
		}
		if c.Name != dataset.Wall {
			c.Reals, c.Ints, c.Counts = rotated(c.Reals, by), rotated(c.Ints, by), rotated(c.Counts, by)
		}
		moved.Columns = append(moved.Columns, c)
	}
	for _, ev := range e.Events {
		i := max(0, sort.Search(n, func(i int) bool { return e.Starts[i] > ev.TimeNS })-1)
		ev.TimeNS += e.Starts[(i+by)%n] - e.Starts[i]
		moved.Events = append(moved.Events, ev)
	}
	return moved
}

// rotated returns the values moved by so many places, the last ones to the start.
func rotated[T any](values []T, by int) []T {
	from := max(0, len(values)-by)
	return slices.Concat(values[from:], values[:from])
}
