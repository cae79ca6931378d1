package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/experiment/results"
)

// run is one execution with its analysis.
type run struct {
	e       *dataset.Execution
	a       *warmup.Execution
	values  []float64 // the column that was analyzed
	n       int
	seconds bool    // values are times
	starts  []int64 // nil: events cannot be assigned to iterations
	ends    []int64
	// secondary marks events that are no evidence: see secondaryEvents.
	secondary []bool
	targets   map[Target][]int // outliers, and the first iterations after changepoints
}

// newRun returns nil and a reason if the execution was not analyzed.
func newRun(e *dataset.Execution, a *warmup.Execution, column string) (r *run, problem string) {
	values, unit, status, problem := warmup.Series(e, column)
	switch {
	case a.Status != warmup.Analysed:
		return nil, a.Problem
	case status != warmup.Analysed:
		return nil, problem
	case len(values) != a.Iterations:
		return nil, fmt.Sprintf("it has %d iterations, its analysis %d", len(values), a.Iterations)
	}
	r = &run{e: e, a: a, values: values, n: len(values), seconds: unit == dataset.Seconds,
		targets: map[Target][]int{Outliers: a.Outliers, Changepoints: nil}}
	for _, c := range a.Changepoints {
		r.targets[Changepoints] = append(r.targets[Changepoints], c+1)
	}
	r.starts, r.ends = stamps(e, r.n)
	r.secondary = r.secondaryEvents()
	return r, ""
}

// stamps returns when the iterations began and ended; nil if events cannot be assigned to them.
func stamps(e *dataset.Execution, n int) (starts, ends []int64) {
	wall, ok := e.Column(dataset.Wall, dataset.NoCore)
	if !ok || len(wall.Ints) != n || len(e.Starts) != n || wall.Unit != dataset.Nanoseconds {
		return nil, nil
	}
	ends = make([]int64, n)
	for i, start := range e.Starts {
		ends[i] = start + wall.Ints[i]
		if i > 0 && start < e.Starts[i-1] {
			return nil, nil // stamps of several clocks
		}
	}
	return e.Starts, ends
}

// during returns the iterations that an event overlaps: [first, after). It is empty for an event
// between two iterations.
func (r *run) during(ev *results.Event) (first, after int) {
	end := ev.TimeNS + max(0, ev.DurationNS)
	first = sort.Search(r.n, func(i int) bool { return r.ends[i] >= ev.TimeNS })
	after = sort.Search(r.n, func(i int) bool { return r.starts[i] > end })
	return first, max(first, after)
}

// ended returns the last iteration that had begun when an event ended; -1 if none had.
func (r *run) ended(ev *results.Event) int {
	end := ev.TimeNS + max(0, ev.DurationNS)
	return sort.Search(r.n, func(i int) bool { return r.starts[i] > end }) - 1
}

// began returns the last iteration that had begun when an event began; -1 if none had.
func (r *run) began(ev *results.Event) int {
	return sort.Search(r.n, func(i int) bool { return r.starts[i] > ev.TimeNS }) - 1
}

// overlap is the time in nanoseconds that an event took of iteration i.
func (r *run) overlap(ev *results.Event, i int) int64 {
	return max(0, min(r.ends[i], ev.TimeNS+max(0, ev.DurationNS))-max(r.starts[i], ev.TimeNS))
}

// segment returns the segment of the analysis that has iteration i.
func (r *run) segment(i int) *warmup.Segment {
	s := sort.Search(len(r.a.Segments), func(k int) bool { return r.a.Segments[k].Start > i }) - 1
	return &r.a.Segments[max(s, 0)]
}

// excess is how much longer outlier i took than the mean of its segment.
func (r *run) excess(i int) float64 { return r.values[i] - r.segment(i).Mean }

// longer is how many times as long as its segment iteration i took, at least 1, without the time
// that lasting events of the source took of it: events that are spread evenly over time are as many
// times as frequent in it.
func (r *run) longer(s *source, e, i int) float64 {
	rest := r.values[i]
	if spent := s.runs[e].spent; spent != nil && r.seconds && s.cause.trait().lasting {
		rest -= spent[i] / 1e9
	}
	return max(1, quotientOf(rest, r.segment(i).Mean))
}

// ratio is Finding.Ratio of a target.
func (r *run) ratio(t Target, i int) float64 {
	if t == Outliers {
		return quotientOf(r.values[i], r.segment(i).Mean)
	}
	return quotientOf(r.segment(i).Mean, r.segment(i-1).Mean)
}

func quotientOf(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// column returns the values of a column, NaN replaced by 0; nil if the execution lacks it.
func (r *run) column(name string) []float64 {
	values, _ := r.e.Values(name)
	if len(values) != r.n {
		return nil
	}
	clean := make([]float64, r.n)
	for i, v := range values {
		if !math.IsNaN(v) {
			clean[i] = v
		}
	}
	return clean
}

// quotient returns the values of a quotient of columns, nil if the execution lacks them. Without a
// divisor the value is that of the iteration before.
func (r *run) quotient(q quotient) []float64 {
	above := r.column(q.above)
	if q.below == "" || above == nil {
		return above
	}
	below := r.column(q.below)
	if below == nil {
		return nil
	}
	for i := range above {
		switch {
		case below[i] > 0:
			above[i] /= below[i]
		case i > 0:
			above[i] = above[i-1]
		default:
			above[i] = 0
		}
	}
	return above
}

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
		return cmp.Compare(r.e.Events[a].TimeNS, r.e.Events[b].TimeNS)
	})
	return order
}
