package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"krund/internal/display"
)

// SniffSize is the number of bytes from the beginning of a file that Sniff needs; fewer are
// allowed.
const SniffSize = 1 << 16

// Sniff determines the tool that wrote a file from the beginning of its content: it returns
// FormatKrun, FormatWarmupCSV or the name of one of formats, or "" for anything else. It looks only
// at features unique to one format at its start, so that errors in a damaged file come from the
// reader.
func Sniff(head []byte) string {
	o := openingOf(head)
	for _, f := range formats {
		if f.like(o) {
			return f.name
		}
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(head, []byte("BZh")):
		return FormatKrun
	case bytes.HasPrefix(text, []byte("[")), bytes.HasPrefix(text, []byte("{")):
		return sniffKrun(o.json)
	case isWarmupHeader(o.columns[0], !bytes.Contains(head, []byte("\n"))):
		return FormatWarmupCSV
	}
	return sniffGo(string(text))
}

// sniffGo looks for a result, or for the head of results without any. A table of benchstat begins
// with the same head.
func sniffGo(text string) (format string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "pexec: "),
			strings.HasPrefix(line, "Benchmark") && len(fields) >= 4 && strings.Contains(line, " ns/op"):
			return FormatGo
		case strings.HasPrefix(line, "goos: "), strings.HasPrefix(line, "pkg: "):
			format = FormatGo
		case strings.Contains(line, "│"):
			return ""
		}
	}
	return format
}

// Names of the members of Krun's files. The names in krunOften occur in files of others, too.
var (
	krunOnly = []string{"wallclock_times", "core_cycle_counts", "aperf_counts", "mperf_counts",
		"pexec_flags", "eta_estimates", "all_outliers", "changepoints", "changepoint_means",
		"changepoint_vars", "common_outliers", "unique_outliers", "starting_temperatures"}
	krunOften = []string{"config", "audit", "error_flag", "classifications", "classifier", "window_size",
		"reboots"}
)

func sniffKrun(p jsonPaths) string {
	is := func(name string) bool { return p.has(name) }
	if slices.ContainsFunc(krunOnly, is) || !p.complete && slices.ContainsFunc(krunOften, is) {
		return FormatKrun // the others may follow
	}
	return ""
}

// jsonPaths has the names of members at the beginning of a JSON value, down to the members of the
// objects in it: "results[].command".
type jsonPaths struct {
	paths    map[string]bool
	complete bool // the value ends in the text
}

// has reports whether all paths occur.
func (p jsonPaths) has(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !p.paths[path] })
}

// pathDepth is the number of objects and arrays in which a path is looked for.
const pathDepth = 3

// pathsOf reads the beginning of a JSON value, which may be cut off or damaged.
func pathsOf(text []byte) jsonPaths {
	type level struct {
		path   string // of the object or array
		object bool
		name   string // of the member whose value is next; "" if a name is next
	}
	p := jsonPaths{paths: map[string]bool{}}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return p
		}
		var at *level
		if len(open) > 0 {
			at = &open[len(open)-1]
		}
		switch delimiter, isDelimiter := token.(json.Delim); {
		case isDelimiter && (delimiter == '}' || delimiter == ']'):
			open = open[:len(open)-1]
		case at != nil && at.object && at.name == "":
			at.name, _ = token.(string)
			at.name = strings.TrimPrefix(at.path+"."+at.name, ".")
			if len(open) <= pathDepth {
				p.paths[at.name] = true
			}
			continue
		case isDelimiter:
			path := ""
			if at != nil {
				path = at.name
				if !at.object {
					path = at.path
				}
			}
			if delimiter == '[' {
				path += "[]"
			}
			if len(open) > pathDepth {
				path = "" // not looked for; in the deepest, all paths would be as long as the text
			}
			if at != nil {
				at.name = ""
			}
			open = append(open, level{path: path, object: delimiter == '{'})
			continue
		default:
			if at != nil {
				at.name = ""
			}
		}
		if len(open) == 0 {
			p.complete = true
			return p
		}
	}
}

// columnsOf returns the cells of the first line, which are unquoted and trimmed; nil if there is no
// line. The last one may be cut off.
func columnsOf(head []byte, comma rune) []string {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(head, []byte(byteOrderMark)), []byte("\n"))
	if len(line) == 0 {
		return nil
	}
	columns := strings.Split(strings.TrimRight(string(line), "\r"), string(comma))
	for i, c := range columns {
		columns[i] = strings.Trim(strings.TrimSpace(c), `"`)
	}
	return columns
}

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
