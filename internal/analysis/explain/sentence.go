package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"krund/internal/analysis/arith"
	"krund/internal/display"
	"krund/internal/experiment/results"
)

// describe completes the key: sentences, findings, shares, and what evidence is missing.
func (s *study) describe() {
	k := s.out
	for i := range k.Statements {
		k.Statements[i].Text = s.statementText(i)
	}
	for e, r := range s.runs {
		x := ExecutionFindings{Number: r.e.Number, Iterations: r.n, Steady: steadyOf(r, s.sources)}
		x.Outliers = s.findings(Outliers, e, &k.Outliers)
		x.Changepoints = s.findings(Changepoints, e, &k.Changepoints)
		k.Executions = append(k.Executions, x)
	}
	k.Missing = append(k.Missing, s.missing()...)
	lost := 0
	for _, r := range s.runs {
		lost += r.e.EventsLost
	}
	if lost > 0 {
		k.Warnings = append(k.Warnings, fmt.Sprintf("%d events were lost because the buffer was full; "+
			"causes may be missing", lost))
	}
}

// findings returns the targets of an execution, and counts them.
func (s *study) findings(t Target, e int, share *Coverage) []Finding {
	r := s.runs[e]
	list := make([]Finding, len(r.targets[t]))
	for k, i := range r.targets[t] {
		f := Finding{Iteration: i, Ratio: r.ratio(t, i), Statement: s.state[t][e][k], Evidence: []string{}}
		share.Total++
		what := "no cause is established"
		switch {
		case f.Statement == unexplained:
		case s.out.Statements[f.Statement].SameBursts:
			what += "; it is in the same bursts as " + s.out.Statements[f.Statement].things()
		default:
			f.Cause = s.out.Statements[f.Statement].Cause
			what = s.causeText(f.Statement, e, i)
			if f.Cause.Symptom() {
				share.Diagnosed++
			} else {
				share.Explained++
			}
		}
		f.Text = fmt.Sprintf("%s; %s", r.effectText(t, i), what)
		if t == Changepoints {
			f.Evidence = s.changes(e, i, f.Cause)
		}
		list[k] = f
	}
	return list
}

// nth returns the number of an iteration in sentences: from 1, as in reports.
func nth(index int) int { return index + 1 }

// effectText describes an outlier or a changepoint.
func (r *run) effectText(t Target, i int) string {
	ratio := r.ratio(t, i)
	switch {
	case t == Outliers:
		return fmt.Sprintf("outlier at %d: %s times the mean of its segment", nth(i), number(ratio))
	case ratio > 1:
		return fmt.Sprintf("changepoint at %d: iterations become %s slower", nth(i), percentage(ratio-1))
	case ratio > 0 && ratio < 1:
		return fmt.Sprintf("changepoint at %d: iterations become %s faster", nth(i), percentage(1-ratio))
	}
	return fmt.Sprintf("changepoint at %d", nth(i))
}

func percentage(share float64) string {
	if share < 0.001 {
		return "less than 0.1 %"
	}
	return number(100*share) + " %"
}

// number formats a value with up to three digits.
func number(v float64) string {
	if v >= 100 && v < 1e9 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// statementText is the sentence of statement i.
func (s *study) statementText(i int) string {
	st := &s.out.Statements[i]
	of := fmt.Sprintf("%d of %d", st.Hits, st.Targets)
	total := 0
	for _, r := range s.runs {
		total += len(r.targets[st.Target])
	}
	if st.Targets < total {
		of = fmt.Sprintf("%d of the other %d", st.Hits, st.Targets)
	}
	if st.SameBursts {
		return fmt.Sprintf("%s outliers are in the same bursts as %s; both may have another cause", of,
			st.things())
	}
	if st.Target == Outliers {
		left, series := "none", "the series has"
		if n := st.Targets - st.Hits; n > 0 {
			left = fmt.Sprint(n)
		}
		if len(s.runs) > 1 {
			series = fmt.Sprintf("the %d executions have", len(s.runs))
		}
		return fmt.Sprintf("%s outliers %s; without them %s %s", of, outlierPhrase(&st.Candidate), series,
			left)
	}
	return fmt.Sprintf("%s changepoints %s", of, changePhrase(&st.Candidate))
}

// things names the evidence in the plural.
func (c *Candidate) things() string { return c.Cause.trait().many + called(c.Name) }

// outlierPhrase completes "3 of 5 outliers ...".
func outlierPhrase(c *Candidate) string {
	t := c.Cause.trait()
	column, isColumn := strings.CutPrefix(c.Source, "column ")
	switch {
	case c.Cause == Frequency:
		return "ran at a lower frequency than the iterations around them"
	case c.Cause == Work:
		return "executed more instructions than the iterations around them"
	case c.Cause == Memory:
		return "needed more cycles per instruction than the iterations around them (caches, memory, " +
			"mispredicted branches)"
	case c.Cause == Sleep && c.Feature == Present:
		return "contain a voluntary context switch: the benchmark slept or waited"
	case c.Cause == Competitor && isColumn && c.Feature == Present:
		return "contain an involuntary context switch: another task took the processor"
	case c.Feature == Present:
		return "contain " + t.one + called(c.Name)
	case c.Feature == Time:
		return fmt.Sprintf("have %s%s that took a third of their extra time or more", t.many, called(c.Name))
	case isColumn:
		return fmt.Sprintf("have far more %s than the iterations around them (column %s)", t.many, column)
	}
	return fmt.Sprintf("have more or longer %s%s than the iterations around them", t.many, called(c.Name))
}

func called(name string) string {
	if name == "" {
		return ""
	}
	return " (`" + name + "`)"
}

// changePhrase completes "3 of 5 changepoints ...".
func changePhrase(c *Candidate) string {
	t := c.Cause.trait()
	column, isColumn := strings.CutPrefix(c.Source, "column ")
	switch {
	case c.Feature == Time:
		return fmt.Sprintf("come with a change of the time in %s, which is a third of theirs or more", t.many)
	case c.Feature == First:
		return fmt.Sprintf("have %s within %d iterations, the first after a long pause", t.one, near)
	case c.Feature == Last:
		return "come just after the last compilation" + called(c.Name) + " of a burst"
	case c.Feature == Near && !isColumn:
		return fmt.Sprintf("have %s%s within %d iterations", t.one, called(c.Name), near)
	case c.Feature == Near:
		return fmt.Sprintf("have %s within %d iterations (column %s)", t.one, near, column)
	case c.Cause == Frequency:
		return "come with a change of frequency"
	case c.Cause == Work:
		return "come with a change of the number of instructions: other code, or other work"
	case c.Cause == Memory:
		return "come with a change of the cycles per instruction: caches, memory, mispredicted branches"
	case isColumn:
		return fmt.Sprintf("come with a change of the level of %s (column %s)", t.many, column)
	}
	return fmt.Sprintf("come with a change of the number of %s%s per iteration", t.many, called(c.Name))
}

// causeText says what a statement's cause did at target i of execution e.
func (s *study) causeText(statement, e, i int) string {
	t := s.used[statement]
	r := s.runs[e]
	c := s.out.Statements[statement].Candidate
	switch {
	case t.feature == Shift:
		return s.shiftText(t.source, e, i)
	case t.feature == Time && t.target == Changepoints:
		before, after := r.around(t.source.spendingIn(e, r), i)
		return fmt.Sprintf("%s took %s per iteration before and %s after", t.source.cause.trait().many,
			display.Nanoseconds(before), display.Nanoseconds(after))
	case t.target == Changepoints && t.source.kind != "":
		return r.eventNear(t.source, i)
	case t.target == Changepoints:
		return strings.TrimPrefix(changePhrase(&c), "have ") // a count of rare things
	case t.source.kind != "":
		return r.eventIn(t.source, i)
	}
	a, trait := &t.source.runs[e], t.source.cause.trait()
	if a.spent != nil {
		return fmt.Sprintf("%s took %s", trait.many, display.Nanoseconds(a.spent[i]))
	}
	noun := trait.counted
	if noun == "" || strings.Contains(t.source.label, "/") { // a quotient is no count
		noun = strings.TrimPrefix(t.source.label, "column ")
	}
	if a.count[i] == 1 && noun == trait.counted {
		noun = strings.TrimSuffix(strings.ReplaceAll(noun, "switches", "switch"), "s")
	}
	sorted := slices.Sorted(slices.Values(a.count))
	return fmt.Sprintf("%s %s, usually %s", number(a.count[i]), noun, number(sorted[len(sorted)/2]))
}

// eventIn describes the events of a source in iteration i.
func (r *run) eventIn(s *source, i int) string {
	var longest *results.Event
	count, spent := 0, int64(0)
	for k := range r.e.Events {
		ev := &r.e.Events[k]
		if !s.has(ev) {
			continue
		}
		if first, after := r.during(ev); i < first || i >= after {
			continue
		}
		count++
		spent += r.overlap(ev, i)
		if longest == nil || r.overlap(ev, i) > r.overlap(longest, i) {
			longest = ev
		}
	}
	if longest == nil {
		return s.cause.trait().many
	}
	text := s.cause.trait().one + called(longest.Name)
	if count > 1 {
		text = fmt.Sprintf("%d %s%s", count, s.cause.trait().many, called(longest.Name))
	}
	if spent > 0 {
		text += fmt.Sprintf(" took %s of its %s", display.Nanoseconds(float64(spent)),
			display.Nanoseconds(float64(r.ends[i]-r.starts[i])))
	}
	return text
}

// eventNear describes the event of a source near the changepoint before iteration i: the longest
// one.
func (r *run) eventNear(s *source, i int) string {
	var found *results.Event
	for k := range r.e.Events {
		ev := &r.e.Events[k]
		at := r.place(ev)
		if s.has(ev) && at >= i-near && at < i+near && (found == nil || ev.DurationNS >= found.DurationNS) {
			found = ev
		}
	}
	if found == nil {
		return s.cause.trait().one + " is near"
	}
	text := s.cause.trait().one
	if found.Name != "" {
		text += " of `" + found.Name + "`"
	}
	at, verb := r.place(found), "began"
	if found.Kind == "compile" {
		verb = "ended"
	}
	text += fmt.Sprintf(" %s in iteration %d", verb, nth(at))
	if !slices.ContainsFunc(r.e.Events, func(ev results.Event) bool {
		return ev.Kind == found.Kind && r.place(&ev) > at
	}) {
		text += ", the last of all"
	}
	return text
}

// shiftText describes the change of level of a source at the changepoint before iteration i.
func (s *study) shiftText(src *source, e, i int) string {
	n, m := s.runs[e].lengths(i)
	before, after := arith.MeanOf(src.runs[e].count[i-n:i]), arith.MeanOf(src.runs[e].count[i:i+m])
	verb := "rises"
	if after < before {
		verb = "falls"
	}
	name := strings.TrimPrefix(src.label, "column ")
	if src.kind != "" {
		name = "the number of " + src.cause.trait().many + called(src.name)
	}
	return fmt.Sprintf("%s per iteration %s from %s to %s", name, verb, number(before), number(after))
}

// changes lists the sources whose level changes at a changepoint, in either direction.
func (s *study) changes(e, i int, but Cause) []string {
	r, list := s.runs[e], []string{}
	for k := range s.sources {
		src := &s.sources[k]
		l := src.levelsIn(e, r)
		if src.name != "" || src.timed || src.cause == but || l == nil {
			continue
		}
		before, after := r.lengths(i)
		if min(before, after) >= 2 && math.Abs(l.test(i, before, after)) >= levelTest {
			list = append(list, s.shiftText(src, e, i))
		}
	}
	return list
}

// missing lists the evidence that no execution has, and how to get it.
func (s *study) missing() []string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(s.runs, func(r *run) bool {
			return slices.ContainsFunc(names, func(name string) bool { return r.column(name) != nil })
		})
	}
	var list []string
	switch {
	case s.out.Instrument != "events":
		list = append(list, "there are no events of the VM (garbage collections, compilations, "+
			"deoptimizations); write instrument = \"events\" in [vms.NAME] and run it again")
	case !slices.ContainsFunc(s.runs, func(r *run) bool { return len(r.e.Events) > 0 }):
		list = append(list, "the VM has reported no events; docs/explain.md lists which VM can report what")
	case !slices.ContainsFunc(s.runs, func(r *run) bool { return r.starts != nil }):
		list = append(list, "the records have no start stamps, so that events belong to no iteration")
	}
	if !has("voluntary_switches", "minor_faults") {
		list = append(list, "there are no counts of the kernel (page faults, context switches); "+
			"docs/counters.md lists them")
	}
	if !has("instructions") {
		list = append(list, "there are no counts of instructions; docs/counters.md explains how to get them")
	}
	return list
}
