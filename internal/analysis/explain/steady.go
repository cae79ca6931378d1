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
	compiles := r.activity(Compile, "jit_count")
	deopts := r.activity(Deopt, "deopt_count")
	codes := r.activity(Code, "")
	st.LastCompile, st.Compiles = lastOf(compiles, from)
	st.LastDeopt, st.Deopts = lastOf(deopts, from)
	st.LastCode, _ = lastOf(codes, from)
	known := func(c Cause) bool {
		return slices.ContainsFunc(sources, func(s source) bool { return s.cause == c })
	}
	st.Text = st.text(known(Compile), known(Deopt), known(Code))
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

// text is the sentence about the steady state.
func (st *Steady) text(compiles, deopts, codes bool) string {
	text := "no statistical steady state"
	if st.From != nil {
		text = fmt.Sprintf("statistically steady from iteration %d", nth(*st.From))
	}
	var list []string
	add := func(known bool, last *int, what, none string) {
		switch {
		case last != nil:
			list = append(list, fmt.Sprintf("%s in iteration %d", what, nth(*last)))
		case known:
			list = append(list, none)
		}
	}
	add(compiles, st.LastCompile, "last compilation", "no compilation")
	add(deopts, st.LastDeopt, "last deoptimization", "no deoptimization")
	add(codes, st.LastCode, "code cache last flushed or full", "")
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	if len(list) == 0 {
		return text + "; the VM has not reported any compilation"
	}
	return text + "; the VM: " + strings.Join(list, ", ")
}

// warn adds the disagreements.
func (st *Steady) warn(r *run) {
	warn := func(format string, args ...any) {
		st.Warnings = append(st.Warnings, fmt.Sprintf(format,
			args...))
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
