package explain

import "krund/internal/analysis/dataset"

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
	{cause: Compile, rank: 2, one: "a compilation", many: "compilations",
		events: []string{"compile"}, columns: []string{"jit_count", "jit_time"}, spent: "jit_time",
		counted: "compilations", named: true},
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
	{cause: Interrupt, rank: 3, one: "an interrupt", many: "interrupts",
		events: []string{"irq", "smi"}, columns: []string{"smi", "device_interrupts"},
		counted: "interrupts", named: true},
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
