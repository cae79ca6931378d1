// Package dataset represents measured iterations in memory, independent of file formats: readers
// (package exchange) build datasets, the analysis and writers use them.
//
// A [Dataset] has pairs (a key with its process executions), an [Execution] columns, and a [Column]
// one value per in-process iteration. Integers stay integers, because counters have 64 bits. Start
// reading at [Dataset].
package dataset

import (
	"fmt"
	"math"
	"slices"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Wall is the name of the column every measured execution has: the duration
// of each iteration, in a time unit.
const Wall = "wall"

// Names of the per-core counters that formats share.
const (
	CoreCycles = "cycles"
	APERF      = "aperf"
	MPERF      = "mperf"
)

// Units that Column.Floats converts to seconds.
const (
	Seconds     = "s"
	Nanoseconds = "ns"
)

// Dataset is an experiment's measurements.
type Dataset struct {
	Info
	Pairs    []Pair   // each key once, in the order of the source
	Problems []string // sentences about data that could not be read and are missing from Pairs
	LeftOut  []string // the problems that concern a whole record of an experiment

	// Planned are the keys of the configuration, in its order; nil: unknown.
	Planned []key.Key
	// Rounds means that the executions with the same number are a round, one of each key, in an
	// order that was drawn for it. Blocked experiments have rounds as well.
	Rounds bool
}

// Executions returns the number of process executions of all keys.
func (d *Dataset) Executions() int {
	n := 0
	for _, p := range d.Pairs {
		n += len(p.Executions)
	}
	return n
}

// Info describes the origin of measurements. Empty strings are unknown.
type Info struct {
	Source     string `json:"name"`       // display name of the file or directory
	Format     string `json:"kind"`       // "krund", "krun", "warmup_stats CSV", ...
	Machine    string `json:"machine"`    // name of the machine
	Experiment string `json:"experiment"` // name of the experiment

	// Arms are those of the configuration, in its order: the first is the base that the others are
	// compared with. There are none in an experiment without arms.
	Arms []Arm `json:"arms,omitempty"`
	// Blocked means that the executions with the same number, one of each key and arm, are a block:
	// they are paired.
	Blocked bool `json:"blocked,omitempty"`
	// Layout is how the addresses of the processes were chosen: see Layouts. "" is unknown.
	Layout string `json:"layout,omitempty"`
	// Stopped are the keys of which executions were skipped because they were not needed.
	Stopped []Stopped `json:"stopped,omitempty"`
	// NegativeControls are keys whose program must not change: when it does, the machine did.
	NegativeControls []string `json:"negative_controls,omitempty"`
	// Programs names the keys of which executions have the outcome OtherPrograms, and why; "": none
	Programs string `json:"programs,omitempty"`
}

// Stopped is a key, or all arms of one, that was finished before its last planned execution.
type Stopped struct {
	Keys       []string `json:"keys"`
	Executions int      `json:"executions"` // that were measured; with arms, of the arm with the fewest
	Reason     string   `json:"reason"`
}

// Layouts: how the addresses of processes were chosen, which influences their speed.
const (
	LayoutFixed  = "fixed"  // all executions have the same: what holds for it may not hold for another
	LayoutRandom = "random" // krund draws one for each block, and all arms of the block have it
	LayoutKernel = "kernel" // the kernel draws one for each execution
)

// Arm is one of the builds or settings that an experiment compares.
type Arm struct {
	Name string `json:"name"` // key.Key.Arm of its keys
	Null bool   `json:"null"` // a second copy of the base: its effect is noise
	// Inject is the part by which every iteration of a null arm was held, 0.01 for 1%: its effect
	// is known.
	Inject   float64 `json:"inject,omitempty"`
	Anchor   bool    `json:"anchor,omitempty"` // a frozen build, which no other arm is compared with
	Revision string  `json:"revision,omitempty"`
	// Twins are the names of earlier arms that no file and no setting distinguishes from this one,
	// for some keys at least, although this is no null arm.
	Twins []string `json:"twins,omitempty"`
	// CostOf are the names of earlier arms that only the level of instrumentation distinguishes
	// from this one: the effect between the two is what instrumenting costs.
	CostOf []string `json:"cost_of,omitempty"`
}

// Pair is a key with its process executions in the order they were measured.
type Pair struct {
	Key        key.Key
	Executions []Execution
}

// Instrument returns how the executions are instrumented: that of the first one.
func (p *Pair) Instrument() string {
	if len(p.Executions) == 0 {
		return ""
	}
	return p.Executions[0].Instrument
}

// InstrumentText describes a level of instrumentation in a sentence: "instrumented (events)".
func InstrumentText(level string) string {
	if level == "" {
		return "not instrumented"
	}
	return "instrumented (" + level + ")"
}

// OtherPrograms is the outcome of an execution that completed, but with other programs than the
// latest one of its key. No record has it.
const OtherPrograms results.Outcome = "other programs"

// Replaced reports whether other executions stand for one with this outcome.
func Replaced(o results.Outcome) bool { return o == results.Rerun || o == OtherPrograms }

// Execution is one process execution. Its columns must all have the same length: see Check.
type Execution struct {
	Number  int // from 1 among the executions of its key; in a blocked experiment, the block
	Outcome results.Outcome
	Reasons []string // explanations of the outcome
	Machine string   // on which it ran, if several share the experiment; else ""
	Restart string   // what was restarted before it, see results.Record.Reboot; "": unknown
	Turn    int      // from 1: its place in the order of the experiment's executions; 0: unknown
	// Place is the one within its block, from 1: among the arms of its key if the experiment is
	// blocked, else in its round; 0: there are no blocks, or their order was not drawn.
	Place int
	// Stage is how often the experiment had been extended when it was measured. Between two stages
	// there is time: executions of different stages are no block, even with the same number.
	Stage   int
	Columns []Column
	// FirstResult is the time from the start of the process to the end of its first iteration, in
	// seconds; 0: unknown.
	FirstResult float64

	// Inputs and Results are, by iteration, the input that run_iter was given and the checksum of
	// what it returned, MissingInt without one; nil: it takes no input.
	Inputs, Results []int64

	Loop *Loop // nil: unknown, or what lies between iterations is asked for (runner "command")

	// Suite reports whether the hook of a published suite measured, whose own program may work
	// between iterations: it collects garbage and validates.
	Suite bool
	// Instrument is what the runner was asked to report beside wall times, which costs time:
	// "columns", "events" or, for a clean execution, "". Series that differ in it are not compared.
	Instrument string
	// Starts are the start stamps of the iterations in nanoseconds, on the clock of Events; nil:
	// unknown.
	Starts     []int64
	Events     []results.Event // by time
	EventsLost int             // that happened and are not among Events: later ones, as a rule

	Calls *Calls // nil: only the value of each iteration is known

	Stopped bool // the watcher ended it before its last iteration ([stop.iterations])

	Record string // path of its record; "" if it has none
}

// Block returns what the executions of one block have in common: the number and the stage.
func (e *Execution) Block() int { return BlockOf(e.Number, e.Stage) }

// BlockOf is Execution.Block of an execution with that number and stage.
func BlockOf(number, stage int) int {
	const most = 10_000_000 // numbers of a schedule are smaller
	return number + stage*most
}

// Calls are the times of the calls in each iteration of an execution, or of a sample of them.
type Calls struct {
	Seconds    float64 // planned duration of an iteration
	Iterations []Histogram
}

// Histogram holds how often each of some times occurred. Values are in seconds; Counts are whole.
type Histogram struct{ Values, Counts []float64 }

// Column is one value per iteration. Exactly one of the slices is in use.
type Column struct {
	Name string
	Unit string // "s", "ns", "cycles", "" for a count, ...
	Core int    // processor of a per-core column, else NoCore

	Reals  []float64 // NaN: no value for this iteration
	Ints   []int64   // MissingInt: no value for this iteration
	Counts []uint64
}

// NoCore is Column.Core for a column that belongs to no single processor. MissingInt marks a
// missing value in Column.Ints.
const (
	NoCore     = -1
	MissingInt = math.MinInt64
)

// Len is the number of iterations.
func (c *Column) Len() int { return len(c.Reals) + len(c.Ints) + len(c.Counts) }

// Floats returns the values for analysis: times in seconds (nanoseconds are divided by 1e9),
// anything else in its own unit, NaN for missing values. unit is the unit of the result. The slice
// may be the column's own.
func (c *Column) Floats() (values []float64, unit string) {
	unit = c.Unit
	divisor := 1.0
	if unit == Nanoseconds {
		unit, divisor = Seconds, 1e9
	}
	if c.Reals != nil && divisor == 1 {
		return c.Reals, unit
	}
	values = make([]float64, c.Len())
	for i := range values {
		values[i] = c.at(i) / divisor
	}
	return values, unit
}

func (c *Column) at(i int) float64 {
	switch {
	case c.Counts != nil && c.Counts[i] == results.MissingCount:
		return math.NaN()
	case c.Counts != nil:
		return float64(c.Counts[i])
	case c.Ints == nil:
		return c.Reals[i]
	case c.Ints[i] == MissingInt:
		return math.NaN()
	}
	return float64(c.Ints[i])
}

// Column finds a column by name; for a per-core column, the one of the given core. ok is false when
// it does not exist.
func (e *Execution) Column(name string, core int) (c *Column, ok bool) {
	for i := range e.Columns {
		if c := &e.Columns[i]; c.Name == name && c.Core == core {
			return c, true
		}
	}
	return nil, false
}

// Cores returns the per-core columns of a name, ordered by core.
func (e *Execution) Cores(name string) []*Column {
	var cores []*Column
	for i := range e.Columns {
		if c := &e.Columns[i]; c.Name == name && c.Core != NoCore {
			cores = append(cores, c)
		}
	}
	slices.SortFunc(cores, func(a, b *Column) int { return a.Core - b.Core })
	return cores
}

// Values returns a column's values with their unit; for a per-core column, the sums over the cores.
// It returns nil when the column does not exist. If the columns of the cores have different
// lengths, which Check rejects, the sums beyond the shortest are NaN. The slice may be the column's
// own.
func (e *Execution) Values(name string) (values []float64, unit string) {
	if c, ok := e.Column(name, NoCore); ok {
		values, unit = c.Floats()
		if values == nil {
			values = []float64{}
		}
		return values, unit
	}
	cores := e.Cores(name)
	most := 0
	for _, c := range cores {
		most = max(most, c.Len())
	}
	if len(cores) > 0 {
		values = make([]float64, most)
	}
	for _, c := range cores {
		var own []float64
		own, unit = c.Floats()
		for i := range values {
			if i < len(own) {
				values[i] += own[i]
			} else {
				values[i] = math.NaN()
			}
		}
	}
	return values, unit
}

// Check reports an error when columns differ in length or occur more than once.
func (e *Execution) Check() error {
	for i := range e.Columns {
		c := &e.Columns[i]
		if c.Len() != e.Columns[0].Len() {
			return fmt.Errorf("execution %d: column %s has %d iterations, %s has %d",
				e.Number, c.label(), c.Len(), e.Columns[0].label(), e.Columns[0].Len())
		}
		if first, _ := e.Column(c.Name, c.Core); first != c {
			return fmt.Errorf("execution %d: column %s occurs twice", e.Number, c.label())
		}
	}
	return nil
}

func (c *Column) label() string {
	if c.Core == NoCore {
		return c.Name
	}
	return fmt.Sprintf("%s of core %d", c.Name, c.Core)
}

// MaxKeys bounds the keys of a data set. Time and memory of an analysis grow with them, and files
// that others have written may have any number.
const MaxKeys = 10000

// CheckKeys returns an error if there are too many keys.
func (d *Dataset) CheckKeys() error {
	if len(d.Pairs) > MaxKeys {
		return fmt.Errorf("there are more than %d keys; analyze fewer at a time", MaxKeys)
	}
	return nil
}

// Find returns the pair with the key, or nil.
func (d *Dataset) Find(k key.Key) *Pair {
	for i := range d.Pairs {
		if d.Pairs[i].Key == k {
			return &d.Pairs[i]
		}
	}
	return nil
}

// Add appends an execution to the pair with the key and numbers it if it has no number. It creates
// the pair if necessary.
func (d *Dataset) Add(k key.Key, e Execution) {
	if len(d.Pairs) > MaxKeys {
		return // CheckKeys refuses it; do not look through all keys for each of many more
	}
	p := d.Find(k)
	if p == nil {
		d.Pairs = append(d.Pairs, Pair{Key: k})
		p = &d.Pairs[len(d.Pairs)-1]
	}
	if e.Number == 0 {
		e.Number = len(p.Executions) + 1
	}
	p.Executions = append(p.Executions, e)
}
