package exchange

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
func Read(name string, r io.Reader, o ImportOptions) (*dataset.Dataset, error) {
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
	options ImportOptions
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
		names = newNamer(ImportOptions{Variant: g.options.Variant}, vm)
		g.names[vm] = names
	}
	return names.key(at.benchmark)
}

// readCriterion reads sample.json of criterion 0.3 to 0.7 (target/criterion/NAME/new): samples with
// the number of iterations and the nanoseconds of all of them. A file is one process execution; the
// name of the benchmark is in another file, see nameOfCriterion.
func readCriterion(in io.Reader, g *gatherer) error {
	var f struct{ Iters, Times []float64 }
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	if len(f.Iters) != len(f.Times) {
		return fmt.Errorf("%w: iters has %d values and times %d", ErrFormat, len(f.Iters), len(f.Times))
	}
	values := make([]float64, len(f.Times))
	for i := range values {
		if !(f.Iters[i] > 0) {
			return fmt.Errorf("%w: sample %d has %g iterations", ErrFormat, i+1, f.Iters[i])
		}
		values[i] = f.Times[i] / f.Iters[i]
	}
	return g.add(place{benchmark: "criterion", execution: 1, unit: "ns"}, values...)
}

// nameOfCriterion renames the benchmark of a sample.json after its directory,
// target/criterion/GROUP/FUNCTION/new.
func nameOfCriterion(d *dataset.Dataset, file string) {
	path, err := filepath.Abs(file)
	if err != nil || d.Format != FormatCriterion {
		return
	}
	dir := filepath.Dir(filepath.Dir(path))
	name := filepath.Base(dir)
	for dir = filepath.Dir(dir); filepath.Base(dir) != "criterion" && len(dir) > 1; dir = filepath.Dir(dir) {
		name = filepath.Base(dir) + "/" + name
	}
	if filepath.Base(dir) == "criterion" {
		d.Pairs[0].Key.Benchmark = PlainName(name)
	}
}

// divanLine is a result of divan 0.1: a name in a tree, then the columns fastest, slowest, median
// and mean, each a number and a unit.
var divanLine = regexp.MustCompile(
	`^([│ ]*)[├╰]─ (\S.*?)  +[0-9.]+ [nµm]?s +│ [0-9.]+ [nµm]?s +│ [0-9.]+ [nµm]?s +│ ([0-9.]+) ([nµm]?s)`)

// divanGroup is a line without a result.
var divanGroup = regexp.MustCompile(`^([│ ]*)[├╰]─ (\S+)`)

func readDivan(in io.Reader, g *gatherer) error {
	runs := map[string]int{}
	var path []string // of the groups
	return eachLine(in, func(line string) error {
		m := divanLine.FindStringSubmatch(line)
		group := divanGroup.FindStringSubmatch(line)
		if group == nil {
			path = nil
			return nil
		}
		depth := len([]rune(group[1])) / 3
		path = append(path[:min(depth, len(path))], group[2])
		if m == nil {
			return nil
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return err
		}
		path[len(path)-1] = strings.TrimSpace(m[2])
		name := strings.Join(path, "/")
		runs[name]++
		unit := strings.Replace(m[4], "µ", "u", 1)
		return g.add(place{benchmark: name, execution: runs[name], unit: unit}, value)
	})
}

// eachLine calls read for each line; errors name the line and wrap ErrFormat.
func eachLine(in io.Reader, read func(line string) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := read(lines.Text()); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrFormat, n, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%w: %w", ErrFormat, lines.Err())
	}
	return lines.Err()
}

// readPytest reads pytest-benchmark 3 to 5 (--benchmark-json FILE --benchmark-save-data): the
// rounds of a benchmark are the iterations of one process execution, in seconds.
func readPytest(in io.Reader, g *gatherer) error {
	var f struct {
		Benchmarks []struct {
			Fullname, Name string
			Stats          struct{ Data []float64 }
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	for _, b := range f.Benchmarks {
		if len(b.Stats.Data) == 0 {
			return fmt.Errorf("%w: %s has no single times; write them with pytest --benchmark-save-data",
				ErrFormat, display.Clip(cmp.Or(b.Fullname, b.Name), mostName))
		}
		err := g.add(place{benchmark: cmp.Or(b.Fullname, b.Name), execution: 1, unit: "s"}, b.Stats.Data...)
		if err != nil {
			return err
		}
	}
	return nil
}

// readGoogle reads JSON of Google Benchmark 1.5 or later (--benchmark_format=json): the repetitions
// of a benchmark are the iterations of one process execution. Aggregates are left out, and so are
// repetitions with an error.
func readGoogle(in io.Reader, g *gatherer) error {
	var f struct {
		Benchmarks []struct {
			Name    string
			RunName string   `json:"run_name"`
			RunType string   `json:"run_type"`
			Real    *float64 `json:"real_time"`
			Unit    string   `json:"time_unit"`
			Failed  bool     `json:"error_occurred"`
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	for _, b := range f.Benchmarks {
		if b.RunType == "aggregate" || b.Failed || b.Real == nil {
			continue
		}
		at := place{benchmark: cmp.Or(b.RunName, b.Name), execution: 1, unit: cmp.Or(b.Unit, "ns")}
		if err := g.add(at, *b.Real); err != nil {
			return err
		}
	}
	return nil
}

// readBenchmarkDotNet reads the full JSON of BenchmarkDotNet 0.13 or later (--exporters fulljson):
// a launch is a process execution, a measured iteration of the workload one of its iterations, in
// nanoseconds per operation, without the overhead if that was subtracted (stage Result).
func readBenchmarkDotNet(in io.Reader, g *gatherer) error {
	type measurement struct {
		IterationMode, IterationStage string
		LaunchIndex                   int
		Operations, Nanoseconds       float64
	}
	var f struct {
		Benchmarks []struct {
			FullName     string
			Measurements []measurement
		}
	}
	if err := decodeJSON(in, &f); err != nil {
		return err
	}
	for _, b := range f.Benchmarks {
		stage := "Actual"
		result := func(m measurement) bool { return m.IterationStage == "Result" }
		if slices.ContainsFunc(b.Measurements, result) {
			stage = "Result"
		}
		for _, m := range b.Measurements {
			if m.IterationMode != "Workload" || m.IterationStage != stage || !(m.Operations > 0) {
				continue
			}
			at := place{benchmark: b.FullName, execution: m.LaunchIndex, unit: "ns"}
			if err := g.add(at, m.Nanoseconds/m.Operations); err != nil {
				return err
			}
		}
	}
	return nil
}

// readReBench reads a data file of ReBench 1.0 or later: lines of invocation, iteration, value,
// unit, criterion, benchmark, executor, suite, extra arguments, cores, input size and variable
// value, separated by tabs. The criterion total counts; an invocation is a process execution, the
// executor the VM. The benchmark is named after all else that is not empty, and after its suite if
// another suite has the same name.
func readReBench(in io.Reader, g *gatherer) error {
	const fewest, suite, machine = 7, 0, 5 // the latter after the fewest
	first := map[string]string{}           // the cells of each name
	return eachLine(in, func(line string) error {
		cells := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || len(cells) < fewest || cells[0] == "invocation" ||
			cells[4] != "total" {
			return nil
		}
		execution, err := strconv.Atoi(cells[0])
		if err != nil {
			return fmt.Errorf("%.40q is not an invocation", cells[0])
		}
		value, err := strconv.ParseFloat(cells[2], 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a value", cells[2])
		}
		cells = slices.Concat(cells, make([]string, fewest)) // the last ones may be left out
		name, of := cells[5], strings.Join(cells[5:fewest+machine], "\t")
		for i, cell := range cells[fewest:] {
			if cell != "" && cell != "None" && i != suite && i < machine {
				name += "-" + cell
			}
		}
		id := name + "\t" + cells[6]
		if first[id] == "" {
			first[id] = of
		}
		if first[id] != of {
			name = cmp.Or(cells[fewest+suite], "none") + "-" + name
		}
		return g.add(place{benchmark: name, vm: cells[6], execution: execution, unit: cells[3],
			also: of + ": "}, value)
	})
}

// readHyperfineCSV reads hyperfine's --export-csv, in seconds: the mean of a command is one
// execution.
func readHyperfineCSV(in io.Reader, g *gatherer) error {
	return eachRow(in, hyperfineColumns, func(cells []string) error {
		value, err := strconv.ParseFloat(cells[1], 64)
		if err != nil {
			return fmt.Errorf("%.40q is not a time", cells[1])
		}
		return g.add(place{benchmark: cells[0], execution: 1, unit: "s"}, value)
	})
}

// eachRow calls read for each row of a table whose header begins with the columns.
func eachRow(in io.Reader, columns []string, read func(cells []string) error) error {
	t, err := newTable(in, "the table")
	if err != nil {
		return err
	}
	if len(t.head) < len(columns) || !slices.Equal(t.head[:len(columns)], columns) {
		return t.wrong(fmt.Errorf("the header does not begin with %s", strings.Join(columns, ",")))
	}
	return t.each(read)
}

// readPlain reads the plain CSV. The iterations of an execution follow each other.
func readPlain(in io.Reader, g *gatherer) error {
	last := map[string]int{}
	return eachRow(in, PlainColumns, func(cells []string) error {
		execution, err := strconv.Atoi(cells[1])
		if err != nil {
			return fmt.Errorf("execution %.40q is not a number", cells[1])
		}
		iteration, err := strconv.Atoi(cells[2])
		if err != nil {
			return fmt.Errorf("iteration %.40q is not a number", cells[2])
		}
		value, err := strconv.ParseFloat(cells[3], 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%.40q is not a value", cells[3])
		}
		place := place{benchmark: strings.Clone(cells[0]), execution: execution,
			unit: strings.Clone(cells[4])}
		id := place.benchmark + "\x00" + cells[1]
		if before, ok := last[id]; ok && iteration <= before {
			return fmt.Errorf("iteration %d of execution %d of %.40q follows iteration %d", iteration,
				execution, cells[0], before)
		}
		last[id] = iteration
		return g.add(place, value)
	})
}

// WritePlain writes the wall times of all completed executions as the plain CSV. Missing values are
// left out; times are in nanoseconds or seconds, exactly as they are.
func WritePlain(w io.Writer, d *dataset.Dataset) error {
	out := csv.NewWriter(w)
	_ = out.Write(PlainColumns) // Flush reports it
	for _, p := range d.Pairs {
		for i := range p.Executions {
			e := &p.Executions[i]
			wall, ok := e.Column(dataset.Wall, dataset.NoCore)
			if !ok || e.Outcome != results.Completed && e.Outcome != "" {
				continue
			}
			for j := range wall.Len() {
				if value := valueText(wall, j); value != "" {
					_ = out.Write([]string{p.Key.String(), strconv.Itoa(e.Number), strconv.Itoa(j),
						value, wall.Unit})
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}
