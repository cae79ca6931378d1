package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"krund/internal/analysis/arith"
	"krund/internal/analysis/dataset"
	"krund/internal/experiment/results"
)

const (
	// mostFunctions and mostNames are the numbers of names of a kind of events that are tested on
	// their own: those in the most executions, then those that took the most time. The first is for
	// compilations and deoptimizations.
	mostFunctions, mostNames = 48, 8
	// idle begins the names of the kernel's idle tasks: a processor that runs one has nothing to
	// do.
	idle = "swapper"
)

// source is one kind of evidence in all executions of a key.
type source struct {
	cause Cause
	label string
	kind  string // of the events; "" for a column
	name  string
	runs  []amounts // by execution

	// timed: the source is only the times of a column, for the feature Time.
	timed bool

	levels   []*levels   // by execution, see levelsIn
	spending []*spending // by execution, see spendingIn
}

// amounts is what an execution has of a source, by iteration. Slices are nil if it has none of it.
type amounts struct {
	count []float64 // events that overlap the iteration, or the value of the column
	spent []float64 // their time in it, nanoseconds; nil if they have no duration
	place []float64 // events by the iteration in which they ended (compile) or began
	// effect has bits by iteration: where the events of this place take effect; nil: unknown.
	effect []uint8
}

const (
	thisOne = 1 << iota
	nextOne
)

// sourcesOf returns the evidence of the executions of a key.
func sourcesOf(runs []*run) []source {
	var all []source
	for i := range traits {
		t := &traits[i]
		seen := false
		for _, kind := range t.events {
			seen = seen || reported(runs, kind)
			all = slices.Concat(all, eventSource(runs, t, kind, ""), namedSources(runs, t, kind))
		}
		if t.spent != "" {
			for _, s := range columnSource(t.cause, t.spent, runs,
				func(r *run) []float64 { return r.column(t.spent) }) {
				s.timed = true
				all = append(all, s)
			}
		}
		for _, name := range t.columns {
			// a count of the VM has nothing to add to its events, and contains those that are
			// secondary; one of the kernel has: events may have been lost
			if t.ofVM() && seen {
				break
			}
			all = append(all, columnSource(t.cause, name, runs, t.column(name))...)
		}
	}
	for _, q := range quotients {
		all = append(all, columnSource(q.cause, q.name, runs,
			func(r *run) []float64 { return r.quotient(q) })...)
	}
	return all
}

// reported reports whether any execution has events of the kind.
func reported(runs []*run, kind string) bool {
	return slices.ContainsFunc(runs, func(r *run) bool {
		return r.starts != nil &&
			slices.ContainsFunc(r.e.Events, func(ev results.Event) bool { return ev.Kind == kind })
	})
}

// column returns how an execution's values of a column of this cause are read. The benchmark's
// thread does not wait because another one does: where its own switches are known, those of the
// process are no evidence.
func (t *trait) column(name string) func(*run) []float64 {
	return func(r *run) []float64 {
		if own := t.columns[0]; t.cause == Sleep && name != own && r.column(own) != nil {
			return nil
		}
		return r.column(name)
	}
}

// levelsIn returns the levels of the source in execution e; nil if it has none.
func (s *source) levelsIn(e int, r *run) *levels {
	if s.runs[e].count == nil {
		return nil
	}
	if s.levels == nil {
		s.levels = make([]*levels, len(s.runs))
	}
	if s.levels[e] == nil {
		s.levels[e] = newLevels(s.runs[e].count, r.a.Window)
	}
	return s.levels[e]
}

// columnSource returns nothing if no execution has the column, or it never changes.
func columnSource(cause Cause, name string, runs []*run, of func(*run) []float64) []source {
	s := source{cause: cause, label: "column " + name, runs: make([]amounts, len(runs))}
	varies := false
	for i, r := range runs {
		values := of(r)
		if values == nil {
			continue
		}
		varies = varies || slices.Min(values) != slices.Max(values)
		s.runs[i] = amounts{count: values, place: values}
		if c, ok := r.e.Column(name, dataset.NoCore); ok && c.Unit == dataset.Nanoseconds {
			ns := slices.Clone(values)
			floats.Scale(1e9, ns)
			s.runs[i].spent = ns
		}
	}
	if !varies {
		return nil
	}
	return []source{s}
}

// eventSource returns nothing if there is no such event.
func eventSource(runs []*run, t *trait, kind, name string) []source {
	s := source{cause: t.cause, label: "events " + kind, kind: kind, name: name,
		runs: make([]amounts, len(runs))}
	found := false
	for i, r := range runs {
		if r.starts == nil {
			continue
		}
		a := amounts{count: make([]float64, r.n), spent: make([]float64, r.n), place: make([]float64, r.n),
			effect: make([]uint8, r.n)}
		timed, any := false, false
		for k := range r.e.Events {
			ev := &r.e.Events[k]
			if !s.has(ev) || r.secondary[k] {
				continue
			}
			any, timed = true, timed || ev.DurationNS > 0
			first, after := r.during(ev)
			for j := first; j < after; j++ {
				a.count[j]++
				a.spent[j] += float64(r.overlap(ev, j))
			}
			if at := r.place(ev); at >= 0 {
				a.place[at]++
				a.effect[at] |= r.effect(ev, at)
			}
		}
		if !timed {
			a.spent = nil
		}
		s.runs[i] = a
		found = found || any
	}
	if !found {
		return nil
	}
	return []source{s}
}

// has reports whether an event is one of the source.
func (s *source) has(ev *results.Event) bool {
	return s.kind != "" && ev.Kind == s.kind && (s.name == "" || ev.Name == s.name) &&
		!(ev.Kind == "switch" && strings.HasPrefix(ev.Name, idle))
}

// place is the iteration in which an event takes effect: that in which a compilation ended, and any
// other event began.
func (r *run) place(ev *results.Event) int {
	if ev.Kind == "compile" {
		return r.ended(ev)
	}
	return r.began(ev)
}

// effect returns from where on an event takes effect whose place is iteration i: in this one if it
// lies in the first half, else in the next; compiled code perhaps only with the next call.
func (r *run) effect(ev *results.Event, i int) uint8 {
	half := r.starts[i] + (r.ends[i]-r.starts[i])/2
	switch {
	case ev.Kind != "compile" && ev.TimeNS < half:
		return thisOne
	case ev.Kind == "compile" && ev.TimeNS+max(0, ev.DurationNS) < half:
		return thisOne | nextOne
	}
	return nextOne
}

// namedSources returns a source for each of the heaviest names of a kind, if it has several.
func namedSources(runs []*run, t *trait, kind string) []source {
	if !t.named {
		return nil
	}
	spent, executions := map[string]int64{}, map[string]int{}
	any := source{kind: kind}
	for _, r := range runs {
		seen := map[string]bool{}
		for k := range r.e.Events {
			if ev := &r.e.Events[k]; r.starts != nil && any.has(ev) {
				spent[ev.Name] += max(0, ev.DurationNS)
				executions[ev.Name] += arith.One(!seen[ev.Name])
				seen[ev.Name] = true
			}
		}
	}
	if len(spent) < 2 {
		return nil
	}
	delete(spent, "")
	order := slices.SortedFunc(maps.Keys(spent), func(a, b string) int {
		return cmp.Or(executions[b]-executions[a], cmp.Compare(spent[b], spent[a]), cmp.Compare(a, b))
	})
	var named []source
	most := mostNames
	if t.cause == Compile || t.cause == Deopt {
		most = mostFunctions
	}
	for _, name := range order[:min(len(order), most)] {
		named = append(named, eventSource(runs, t, kind, name)...)
	}
	return named
}

// Cause is the cause of an outlier or a changepoint.
type Cause string

// The causes. Work and Memory are symptoms.
const (
	GC         Cause = "gc"
	Compile    Cause = "compile"
	Deopt      Cause = "deopt"
	Code       Cause = "code"
	Load       Cause = "load"
	Pause      Cause = "pause"
	Mark       Cause = "mark"
	Competitor Cause = "competitor"
	Interrupt  Cause = "interrupt"
	Frequency  Cause = "frequency"
	Faults     Cause = "faults"
	Sleep      Cause = "sleep"
	Migration  Cause = "migration"
	Work       Cause = "work"
	Memory     Cause = "memory"
)

// Symptom reports whether c says what changed in the processor's counters and not why.
func (c Cause) Symptom() bool { return c == Work || c == Memory }

// Plural names c in words, such as "garbage collections".
func (c Cause) Plural() string { return c.trait().many }

// trait is what is known of a cause.
type trait struct {
	cause Cause
	// rank is lower for causes that bring about others: a garbage collection touches fresh memory
	// and makes threads wait, but page faults do not collect garbage; a deoptimization is followed
	// by another compilation.
	rank int
	one  string // noun with its article
	many string
	// events are the kinds of events, columns the names of columns, that are evidence.
	events, columns []string
	// spent is the column with their time in the iteration.
	spent string
	// counted is the noun of the values of the columns.
	counted string
	// named: the events are also tested by name.
	named bool
	// lasting: the benchmark waits while such an event lasts, so that its duration must explain a
	// part of an outlier.
	lasting bool
}

// ofVM reports whether the VM, and not the kernel, is the source.
func (t *trait) ofVM() bool { return t.rank <= 2 }

// traits lists all causes, by rank. The names of columns are those that docs/counters.md and
// docs/explain.md list.
var traits = []trait{
	{cause: GC, rank: 1, one: "a garbage collection", many: "garbage collections",
		events: []string{"gc"}, columns: []string{"gc_count", "gc_time"}, spent: "gc_time",
		counted: "garbage collections", named: true, lasting: true},
	{cause: Deopt, rank: 1, one: "a deoptimization", many: "deoptimizations",
		events: []string{"deopt"}, columns: []string{"deopt_count"}, counted: "deoptimizations", named: true},
	{cause: Compile, rank: 2, one: "a compilation", many: "compilations", events: []string{"compile"},
		columns: []string{"jit_count", "jit_time"}, spent: "jit_time", counted: "compilations", named: true},
	{cause: Code, rank: 1, one: "a flush of compiled code", many: "flushes of compiled code",
		events: []string{"code"}},
	{cause: Load, rank: 1, one: "a load of code", many: "loads of code", events: []string{"load"}},
	{cause: Pause, rank: 1, one: "a pause of the VM", many: "pauses of the VM",
		events: []string{"pause"}, named: true, lasting: true},
	{cause: Mark, rank: 1, one: "a mark of the benchmark", many: "marks of the benchmark",
		events: []string{"mark"}, named: true},
	{cause: Competitor, rank: 3, one: "another task on its processor", many: "other tasks on its processor",
		events: []string{"switch"}, columns: []string{"thread_involuntary_switches", "involuntary_switches"},
		counted: "involuntary context switches", named: true, lasting: true},
	{cause: Interrupt, rank: 3, one: "an interrupt", many: "interrupts", events: []string{"irq", "smi"},
		columns: []string{"smi", "device_interrupts"}, counted: "interrupts", named: true},
	{cause: Frequency, rank: 3, one: "a lower frequency", many: "a lower frequency"},
	{cause: Migration, rank: 3, one: "a migration to another processor",
		many:    "migrations to other processors",
		columns: []string{"migrations"}, counted: "migrations"},
	{cause: Faults, rank: 4, one: "page faults", many: "page faults", events: []string{"fault"},
		columns: []string{"minor_faults", "major_faults", "page_faults"}, counted: "page faults"},
	{cause: Sleep, rank: 3, one: "waiting (a voluntary switch)", many: "waiting (voluntary switches)",
		columns: []string{"thread_voluntary_switches", "voluntary_switches"},
		counted: "voluntary context switches"},
	{cause: Work, rank: 5, one: "more instructions", many: "more instructions"},
	{cause: Memory, rank: 5, one: "more cycles per instruction", many: "more cycles per instruction"},
}

func (c Cause) trait() *trait {
	for i := range traits {
		if traits[i].cause == c {
			return &traits[i]
		}
	}
	return &trait{cause: c, one: string(c), many: string(c)}
}

// quotient is a column that is the quotient of two. Both are of the same iteration, so that it does
// not depend on the wall time.
type quotient struct {
	cause        Cause
	name         string
	above, below string
}

// quotients lists them; a higher value is a slower iteration. A longer iteration has more ticks,
// whatever made it longer: a tick that stops or goes on shows in their rate.
var quotients = []quotient{
	{Interrupt, "timer_interrupts/wall", "timer_interrupts", dataset.Wall},
	{Frequency, "mperf/aperf", dataset.MPERF, dataset.APERF},
	{Memory, "cycles/instructions", dataset.CoreCycles, "instructions"},
	{Work, "instructions", "instructions", ""},
}
