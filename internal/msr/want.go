package msr

import (
	"fmt"
	"strings"
)

// The sources, named as in the configuration.
const (
	Perf = "perf"
	MSR  = "msr"
	None = "none"

	// RDPMC is perf, too, but the counter is read in user space: for iterations of a few
	// microseconds. See findSelf.
	RDPMC = "rdpmc"
)

// The scopes, named as in the configuration.
const (
	PerCore   = "per-core"  // every core, around each iteration: the study's meaning
	Task      = "task"      // the benchmark's threads only, around each iteration
	Execution = "execution" // every core, around all iterations of an execution
)

// Want is what the configuration asks for.
type Want struct {
	Sources []string // tried in this order
	Scope   string
	Cores   []int // nil: all that are online
	// Interrupts adds the numbers of timer and device interrupts to the groups of the source perf.
	Interrupts bool
	Usage      bool // also the faults and context switches of the benchmark's process, with any source
}

// SourceFinding is the result for one source.
type SourceFinding struct {
	Source    string
	Available bool
	Why       string   // why it is not available, with the remedy; or what it provides
	Columns   []string // names of what it counts, when available
	Notes     []string // what it does not count although it could, and why
}

// String is the finding as one line.
func (f SourceFinding) String() string {
	state := "not available"
	if f.Available {
		state = "available"
	}
	return strings.Join(append([]string{fmt.Sprintf("%s: %s: %s", f.Source, state, f.Why)}, f.Notes...), "; ")
}

// Reason is how a source was chosen.
type Reason struct {
	Chosen   string          // "" when none of the wanted sources is available
	Findings []SourceFinding // of the sources in the order they were tried
}

// String is the reason as one line, for the record.
func (r Reason) String() string {
	lines := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, " | ")
}
