package exchange

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"krund/internal/display"
)

// ForeignError reports a file that is recognized but not read. It is an ErrUnknown.
type ForeignError struct {
	What   string // "a CSV of hyperfine"
	Advice string // what to do instead
}

func (e ForeignError) Error() string { return fmt.Sprintf("this is %s; %s", e.What, e.Advice) }

// Is makes a ForeignError an ErrUnknown.
func (e ForeignError) Is(target error) bool { return target == ErrUnknown }

// foreignFormat describes a format that is not read. The first line has the columns, a JSON value
// the members, or one of the first lines begins with or contains a text.
type foreignFormat struct {
	what, advice string
	columns      []string // the header begins with them
	members      []string // all paths occur, see jsonPaths
	begins       string   // a line begins with it, after spaces
	contains     []string // a line contains all of them
}

const (
	gzipMagic = "\x1f\x8b"
	notRead   = "krunctl does not read it; docs/exchange.md lists what it reads; as a CSV it begins with " +
		plainHeader
	criterionAdvice = "it has no single times; name sample.json beside it"
	hyperfineAdvice = "it has no single times; export JSON (hyperfine --export-json FILE)"
	jmhAdvice       = "it has no single iterations; write JSON (-rf json -rff FILE)"
	directoryAdvice = "name the experiment's directory, NAME.krun, or NAME.toml"
)

// foreignFormats lists the formats in the order in which they are looked for.
var foreignFormats = []foreignFormat{
	{what: "compressed with gzip", advice: "unpack it first (gunzip)", begins: gzipMagic},
	{what: "compressed with xz", advice: "unpack it first (unxz)", begins: "\xfd7zXZ\x00"},
	{what: "compressed with zstd", advice: "unpack it first (unzstd)", begins: "\x28\xb5\x2f\xfd"},
	{what: "an archive", advice: "unpack it first (unzip)", begins: "PK\x03\x04"},
	{what: "a table of hyperfine", advice: hyperfineAdvice, contains: []string{"| Command", "| Mean ["}},
	{what: "output of hyperfine", advice: hyperfineAdvice, begins: "Time (mean ± σ):"},
	{what: "an estimates.json of criterion", advice: criterionAdvice,
		members: []string{"mean.point_estimate"}},
	{what: "a benchmark.json of criterion", advice: criterionAdvice,
		members: []string{"group_id", "function_id"}},
	{what: "a raw.csv of criterion", columns: []string{"group", "function", "value", "throughput_num"}},
	{what: "output of criterion", contains: []string{"time:   ["}},
	{what: "output of cargo bench", contains: []string{"test ", " ... bench:", " ns/iter"}},
	{what: "JSON of Google Benchmark", members: []string{"context.num_cpus", "benchmarks"}},
	{what: "a CSV of Google Benchmark", columns: []string{"name", "iterations", "real_time", "cpu_time"}},
	{what: "output of Google Benchmark", contains: []string{"Benchmark ", " Time ", " CPU ", " Iterations"}},
	{what: "JSON of pytest-benchmark", members: []string{"machine_info", "commit_info", "benchmarks"}},
	{what: "a CSV of pytest-benchmark", columns: []string{"name", "min", "max", "mean", "stddev"}},
	{what: "a CSV of BenchmarkDotNet", columns: []string{"Method", "Job", "AnalyzeLaunchVariance"}},
	{what: "a CSV of BenchmarkDotNet", columns: []string{"Target", "Target_Namespace", "Target_Type"}},
	{what: "a report of BenchmarkDotNet", begins: "BenchmarkDotNet v"},
	{what: "a report of BenchmarkDotNet", begins: "BenchmarkDotNet=v"},
	{what: "output of perf stat", begins: "Performance counter stats for "},
	{what: "output of perf stat", begins: "# started on "},
	{what: "output of perf stat", members: []string{"counter-value", "event"}},
	{what: "text output of JMH", advice: jmhAdvice, begins: "# JMH version:"},
	{what: "a table of JMH", advice: jmhAdvice, contains: []string{"Benchmark ", " Mode ", " Units"}},
	{what: "a CSV of JMH", advice: jmhAdvice, columns: []string{"Benchmark", "Mode", "Threads", "Samples"}},
	{what: "text output of pyperf", advice: "it has no single values; write JSON (-o FILE.json)",
		contains: []string{"Mean +- std dev: "}},
	{what: "a file of asv", members: []string{"commit_hash", "env_name", "results"}},
	{what: "output of go test -json", advice: "run go test -bench without -json, and store its output",
		members: []string{"Action", "Package"}},
	{what: "output of benchstat", advice: "give the files of go test -bench that it compares",
		contains: []string{"│", "sec/op"}},
	{what: "JSON of Renaissance", members: []string{"format_version", "environment", "data"}},
	{what: "a CSV of Renaissance", columns: []string{"benchmark", "duration_ns", "uptime_ns"}},
	{what: "output of time -v", advice: "measure the command with krunctl time",
		begins: "Command being timed:"},
	{what: "a table of krunctl convert", advice: directoryAdvice,
		columns: []string{"benchmark", "vm", "variant", "pexec"}},
	{what: "output of krunctl convert", advice: directoryAdvice,
		members: []string{"benchmark", "vm", "variant", "pexec"}},
	{what: "a trace", advice: directoryAdvice, members: []string{"traceEvents"}},
	{what: "the analysis of an experiment", advice: "it has no series; name what was analyzed, NAME.krun",
		members: []string{"format", "parameters", "pairs"}},
	{what: "the schedule of an experiment", advice: directoryAdvice, begins: "krund-schedule="},
}

// foreign returns the error for a file that begins with head and has no format that is read.
func foreign(head []byte) error {
	o := openingOf(head)
	for _, f := range foreignFormats {
		if f.matches(o) {
			return ForeignError{What: f.what, Advice: cmp.Or(f.advice, notRead)}
		}
	}
	const fewest = 2 // columns of a table
	switch columns := o.columns[0]; {
	case IsUOpTime(head):
		return ForeignError{What: "a result file of µOpTime", Advice: "krunctl enough optimize reads it"}
	case len(o.lines) > 1 && display.Printable(strings.Join(columns, ",")) &&
		len(columns) >= fewest && strings.ContainsAny(o.lines[1], "0123456789") &&
		len(columns) == len(columnsOf([]byte(o.lines[1]), ',')):
		return ForeignError{What: "a CSV", Advice: wrongColumns(columns)}
	}
	return ErrUnknown
}

// openingOf describes how a file begins.
func openingOf(head []byte) opening {
	o := opening{columns: [2][]string{columnsOf(head, ','), columnsOf(head, ';')}}
	if text := bytes.TrimLeft(head, " \t\r\n"); bytes.HasPrefix(text, []byte("{")) ||
		bytes.HasPrefix(text, []byte("[")) {
		o.json = pathsOf(text)
	} else {
		o.lines = strings.Split(string(head), "\n")
	}
	return o
}

// opening is how a file begins.
type opening struct {
	columns [2][]string // with commas, and with semicolons
	json    jsonPaths
	lines   []string // nil for JSON
}

func (f *foreignFormat) matches(o opening) bool {
	switch {
	case f.columns != nil:
		return slices.ContainsFunc(o.columns[:], func(columns []string) bool {
			return len(columns) >= len(f.columns) && slices.Equal(columns[:len(f.columns)], f.columns)
		})
	case f.members != nil:
		return o.json.has(f.members...)
	}
	return slices.ContainsFunc(o.lines, func(line string) bool {
		if f.begins != "" {
			return strings.HasPrefix(strings.TrimSpace(line), f.begins)
		}
		missing := func(part string) bool { return !strings.Contains(line, part) }
		return !slices.ContainsFunc(f.contains, missing)
	})
}
