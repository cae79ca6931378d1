package explain

import (
	"slices"
	"strings"

	"krund/internal/experiment/results"
)

// secondaryEvents marks the events that are consequences of something else, so that they are no
// evidence of a cause: a task that ran while the benchmark waited has not competed with it; code
// that is left soon after the first compilation of its function is a part of compiling that; and a
// compilation soon after its function was deoptimized is a consequence of that.
func (r *run) secondaryEvents() []bool {
	marks := make([]bool, len(r.e.Events))
	if r.starts == nil {
		return marks
	}
	taken := r.column("involuntary_switches")
	compiled, left := map[string]*results.Event{}, map[string]*results.Event{}
	for _, k := range r.byTime() {
		ev := &r.e.Events[k]
		name := function(ev)
		switch ev.Kind {
		case "switch":
			first, after := r.during(ev)
			marks[k] = taken != nil &&
				!slices.ContainsFunc(taken[first:after], func(n float64) bool { return n > 0 })
		case "compile":
			if compiled[name] == nil {
				compiled[name] = ev
			}
			marks[k] = left[name] != nil && r.place(ev) <= r.place(left[name])+near
		case "deopt":
			first := compiled[name]
			if marks[k] = first != nil && r.place(ev) <= r.place(first)+near; !marks[k] {
				left[name] = ev
			}
		}
	}
	return marks
}

// function is the function of a compilation or deoptimization. A VM may add the reason.
func function(ev *results.Event) string {
	name, _, _ := strings.Cut(ev.Name, " (")
	return name
}

// byTime returns the indexes of the events by their start.
func (r *run) byTime() []int {
	order := make([]int, len(r.e.Events))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(min(max(r.e.Events[a].TimeNS-r.e.Events[b].TimeNS, -1), 1))
	})
	return order
}
