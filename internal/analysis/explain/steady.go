package explain

import (
	"fmt"
	"slices"
	"strings"

	"krund/internal/experiment/results"
)

const (
	// lateShare is the share of the iterations at the end in which a compilation casts doubt on a
	// steady state.
	lateShare = 0.05
	// oftenShare is the share of the steady iterations with a deoptimization from which on they are
	// no steady state of the VM.
	oftenShare = 0.5
)

// steadyOf compares the statistical steady state of an execution with what the VM did.
func steadyOf(r *run, sources []source) Steady {
	st := Steady{Warnings: []string{}}
	from := r.n
	if r.a.Steady != nil {
		from = r.a.Steady.Iteration - 1
		st.From = &from
	}
	text := "no statistical steady state"
	if st.From != nil {
		text = fmt.Sprintf("statistically steady from iteration %d", nth(from))
	}
	var list []string
	for _, a := range []struct {
		cause       Cause
		column      string
		last        **int
		often       *int
		what, never string
	}{
		{Compile, "jit_count", &st.LastCompile, &st.Compiles, "last compilation", "no compilation"},
		{Deopt, "deopt_count", &st.LastDeopt, &st.Deopts, "last deoptimization", "no deoptimization"},
		{Code, "", &st.LastCode, new(int), "code cache last flushed or full", ""},
	} {
		*a.last, *a.often = lastOf(r.activity(a.cause, a.column), from)
		known := slices.ContainsFunc(sources, func(s source) bool { return s.cause == a.cause })
		if *a.last != nil {
			list = append(list, fmt.Sprintf("%s in iteration %d", a.what, nth(**a.last)))
		} else if known && a.never != "" {
			list = append(list, a.never)
		}
	}
	st.Text = text + "; the VM: " + strings.Join(list, ", ")
	if len(list) == 0 {
		st.Text = text + "; the VM has not reported any compilation"
	}
	if st.From != nil {
		st.warn(r)
	}
	return st
}

// activity counts by iteration what the VM did, from events or a column; nil if there is neither.
func (r *run) activity(c Cause, column string) []float64 {
	values := r.column(column)
	if r.e.Instrument != "events" && len(r.e.Events) == 0 || r.starts == nil {
		return values
	}
	place, found := make([]float64, r.n), false
	for k := range r.e.Events {
		if ev := &r.e.Events[k]; slices.Contains(c.trait().events, ev.Kind) {
			found = true
			if at := r.place(ev); at >= 0 {
				place[at]++
			}
		}
	}
	if found {
		return place
	}
	return values
}

// lastOf returns the last iteration with anything, and how many there are from the given one on.
func lastOf(values []float64, from int) (last *int, count int) {
	for i, v := range values {
		if v > 0 {
			last = &i
			if i >= from {
				count++
			}
		}
	}
	return last, count
}

// warn adds the disagreements.
func (st *Steady) warn(r *run) {
	warn := func(format string, args ...any) {
		st.Warnings = append(st.Warnings, fmt.Sprintf(format, args...))
	}
	if ev := r.unfinished(); ev != nil {
		warn("a compilation%s was still running at the end", called(ev.Name))
	} else if st.LastCompile != nil && float64(*st.LastCompile) >= (1-lateShare)*float64(r.n) &&
		*st.LastCompile >= *st.From {
		warn("the VM still compiled in iteration %d of %d: more iterations may not have this speed",
			nth(*st.LastCompile), r.n)
	}
	steady := r.n - *st.From
	if float64(st.Deopts) >= oftenShare*float64(steady) {
		warn("%d of the %d steady iterations have a deoptimization", st.Deopts, steady)
	}
	if st.LastCode != nil && *st.LastCode >= *st.From {
		warn("compiled code was discarded in iteration %d of the steady state", nth(*st.LastCode))
	}
}

// unfinished returns a compilation that lasted beyond the last iteration.
func (r *run) unfinished() *results.Event {
	if r.starts == nil {
		return nil
	}
	for k := range r.e.Events {
		ev := &r.e.Events[k]
		if ev.Kind == "compile" && ev.TimeNS < r.ends[r.n-1] && ev.TimeNS+ev.DurationNS > r.ends[r.n-1] {
			return ev
		}
	}
	return nil
}
