package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// This file has the tools whose files are a list of values with a place each. A format is what it
// is recognized by, and a function that yields its values; gatherer makes the data set. A value has
// its benchmark, the process execution that it belongs to, and a unit of time.

// The formats, dataset.Info.Format.
const (
	FormatJMH             = "JMH JSON"
	FormatPyperf          = "pyperf JSON"
	FormatHyperfine       = "hyperfine JSON"
	FormatGo              = "Go benchmarks"
	FormatCriterion       = "criterion JSON"
	FormatDivan           = "divan text"
	FormatPytest          = "pytest-benchmark JSON"
	FormatGoogle          = "Google Benchmark JSON"
	FormatBenchmarkDotNet = "BenchmarkDotNet JSON"
	FormatReBench         = "ReBench data"
	FormatHyperfineCSV    = "hyperfine CSV"
	FormatPlain           = "plain CSV"
)

// place is where a value belongs.
type place struct {
	benchmark string
	vm        string // "": the tool's
	execution int    // number of the process execution
	unit      string
	also      string // what else distinguishes it from others of the name
	failed    string // why the execution did not complete; "": it did
	calls     *dataset.Calls
}

// format is a kind of file: what it is recognized by, and what reads it.
type format struct {
	name, vm string
	members  [][]string // of JSON: all of one list occur, see jsonPaths
	columns  []string   // of a table: its header begins with them
	begins   string     // of a text: a line begins with it
	read     func(in io.Reader, g *gatherer) error
	remark   string // about all values
}

// PlainColumns are the columns of the plain CSV: a key (benchmark:vm:variant, or a benchmark), the
// numbers of the process execution and the iteration, a value and its unit.
var PlainColumns = strings.Split(plainHeader, ",")

const plainHeader = "key,execution,iteration,value,unit"

var hyperfineColumns = []string{"command", "mean", "stddev", "median", "user", "system", "min", "max"}

// formats are those of other tools, apart from Krun and warmup_stats. Go's benchmarks have no
// features here: see sniffGo.
var formats = []format{
	{name: FormatJMH, vm: "JVM", members: [][]string{{"[].jmhVersion"}, {"[].benchmark", "[].mode"},
		{"[].benchmark", "[].primaryMetric"}}, read: readJMH},
	{name: FormatPyperf, vm: "python", members: [][]string{{"benchmarks[].runs"},
		{"benchmarks[].metadata"}}, read: readPyperf},
	{name: FormatHyperfine, vm: "command", members: [][]string{{"results[].command"}}, read: readHyperfine},
	{name: FormatGo, vm: "Go", read: readGo},
	{name: FormatCriterion, vm: "Rust", members: [][]string{{"sampling_mode", "iters", "times"}},
		read: readCriterion},
	{name: FormatDivan, vm: "Rust", begins: "Timer precision: ", read: readDivan,
		remark: "divan prints no single values: each line is one execution with its mean; concatenate " +
			"several runs"},
	{name: FormatPytest, vm: "python", members: [][]string{{"benchmarks[].stats"}}, read: readPytest},
	{name: FormatGoogle, vm: "C++", members: [][]string{{"benchmarks[].real_time"}}, read: readGoogle},
	{name: FormatBenchmarkDotNet, vm: "dotnet", members: [][]string{{"HostEnvironmentInfo", "Benchmarks"}},
		read: readBenchmarkDotNet},
	{name: FormatReBench, vm: "default", begins: "# Execution Start: ", read: readReBench},
	{name: FormatHyperfineCSV, vm: "command", read: readHyperfineCSV,
		columns: hyperfineColumns,
		remark: "a CSV of hyperfine has only the mean of each command; export JSON " +
			"(--export-json FILE) for its runs"},
	{name: FormatPlain, vm: "default", columns: PlainColumns, read: readPlain},
}

// like reports whether a file that begins so has the format.
func (f *format) like(o opening) bool {
	if f.members == nil {
		text := foreignFormat{begins: f.begins, columns: f.columns}
		return f.begins+strings.Join(f.columns, "") != "" && text.matches(o)
	}
	return slices.ContainsFunc(f.members, func(list []string) bool { return o.json.has(list...) })
}

// Read reads a file of the format of this name. The errors wrap ErrFormat, or are those of r.
func Read(name string, r io.Reader, o FileOptions) (*dataset.Dataset, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil, ErrUnknown
	}
	f := formats[i]
	g := gatherer{d: &dataset.Dataset{Info: dataset.Info{Format: f.name}}, names: map[string]*namer{},
		options: o, vm: f.vm, pairs: map[key.Key]int{}, at: map[gathered]int{}}
	if err := f.read(r, &g); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.name, err)
	}
	if len(g.d.Pairs) == 0 {
		return nil, fmt.Errorf("read %s: %w: it has no values", f.name, ErrFormat)
	}
	if f.remark != "" {
		g.d.Problems = append(g.d.Problems, f.remark)
	}
	return g.d, nil
}

// gathered is a process execution of a key.
type gathered struct {
	key       key.Key
	execution int
}

// gatherer makes a data set of values.
type gatherer struct {
	d       *dataset.Dataset
	names   map[string]*namer // by VM
	options FileOptions
	vm      string
	pairs   map[key.Key]int  // index of the pair
	of      []place          // what each pair has the values of, without execution and unit
	at      map[gathered]int // index of the execution in its pair
}

// add takes the values of an execution in the order of their iterations; a key without any has no
// execution. Its error ends the reading.
func (g *gatherer) add(at place, values ...float64) error {
	if err := errors.Join(tooLong("benchmark", at.benchmark), tooLong("VM", at.vm)); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	k := g.key(at)
	pair, known := g.pairs[k]
	if !known {
		pair = len(g.d.Pairs)
		g.d.Pairs, g.pairs[k] = append(g.d.Pairs, dataset.Pair{Key: k}), pair
		g.of = append(g.of, place{benchmark: at.benchmark, vm: at.vm, also: at.also})
		if err := g.d.CheckKeys(); err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	if of := g.of[pair]; of.benchmark != at.benchmark || of.vm != at.vm || of.also != at.also {
		return fmt.Errorf("%w: %.40q and %.40q have the same name here, %s; rename one", ErrFormat,
			of.also+of.benchmark, at.also+at.benchmark, k)
	}
	p, column := &g.d.Pairs[pair], wallOf(values, at.unit)
	index, known := g.at[gathered{k, at.execution}]
	if !known && len(values) == 0 && at.failed == "" {
		return nil
	}
	if !known {
		g.at[gathered{k, at.execution}] = len(p.Executions)
		e := dataset.Execution{Number: len(p.Executions) + 1, Outcome: results.Completed, Calls: at.calls,
			Columns: []dataset.Column{column}}
		if at.failed != "" {
			e.Outcome, e.Reasons = results.Error, []string{at.failed}
		}
		p.Executions = append(p.Executions, e)
		return nil
	}
	c := &p.Executions[index].Columns[0]
	if c.Unit != column.Unit {
		return fmt.Errorf("%w: %s has values in %s and in %s", ErrFormat, k, c.Unit, column.Unit)
	}
	c.Reals = append(c.Reals, column.Reals...)
	return nil
}

func (g *gatherer) key(at place) key.Key {
	if k, err := key.Parse(at.benchmark); err == nil && k.Benchmark != "" && k.VM != "" && at.vm == "" {
		return k
	}
	vm := cmp.Or(g.options.VM, at.vm, g.vm)
	names := g.names[vm]
	if names == nil {
		names = newNamer(FileOptions{Variant: g.options.Variant}, vm)
		g.names[vm] = names
	}
	return names.key(at.benchmark)
}

// PlainName converts another tool's name of a benchmark to a valid name in a key: each character
// that krund does not allow becomes "_". Names may be longer than krund's.
func PlainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("_-.+", r) {
			return r
		}
		return '_'
	}, s)
	return cmp.Or(s, "_")
}

// mostName limits the name of a benchmark, a VM, a variant or a column, in bytes. It may be a
// command line of hyperfine.
const mostName = 4000

// tooLong returns an error for a name that exceeds the limit.
func tooLong(what, name string) error {
	if len(name) <= mostName {
		return nil
	}
	return fmt.Errorf("the %s %.40q... has %d bytes; names have at most %d: is the file what it seems?",
		what, name, len(name), mostName)
}

// namer assigns different keys to different names of another tool.
type namer struct {
	vm, variant string
	given       map[string]key.Key
	taken       map[key.Key]int // how often it was asked for
}

func newNamer(o FileOptions, vm string) *namer {
	n := &namer{vm: PlainName(cmp.Or(o.VM, vm)), variant: PlainName(cmp.Or(o.Variant, "default"))}
	n.given, n.taken = map[string]key.Key{}, map[key.Key]int{}
	return n
}

// key returns the key of a name: always the same one for the same name.
func (n *namer) key(name string) key.Key {
	if k, ok := n.given[name]; ok {
		return k
	}
	plain := PlainName(display.Clip(name, mostName))
	k := key.Key{Benchmark: plain, VM: n.vm, Variant: n.variant}
	for first := k; n.taken[k] > 0; {
		n.taken[first]++
		k.Benchmark = fmt.Sprintf("%s_%d", plain, n.taken[first])
	}
	n.given[name], n.taken[k] = k, 1
	return k
}

// timeUnits maps names of units of time to the number of units per second.
var timeUnits = map[string]float64{
	"s": 1, "second": 1, "sec": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1. / 60, "hr": 1. / 3600,
	"day": 1. / 86400,
}

// inSeconds converts times to seconds. ok is false when unit is not a unit of time.
func inSeconds(values []float64, unit string) (seconds []float64, ok bool) {
	per, ok := timeUnits[unit]
	if !ok {
		return values, false
	}
	seconds = make([]float64, len(values))
	for i, v := range values {
		seconds[i] = v / per
	}
	return seconds, true
}

// wallOf builds the column of measured values: seconds for times, else the values unchanged with
// their unit.
func wallOf(values []float64, unit string) dataset.Column {
	c := dataset.Column{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore}
	var ok bool
	if c.Reals, ok = inSeconds(values, unit); !ok {
		c.Unit = unit
	}
	return c
}
