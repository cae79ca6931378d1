package exchange

import (
	"bufio"
	"compress/bzip2"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// FormatKrun is dataset.Info.Format of Krun's results.
const FormatKrun = "krun"

// ErrFormat reports that a file does not have the expected format.
var ErrFormat = errors.New("not in the expected format")

// ReadKrunJSON reads Krun's results (NAME_results.json.bz2), compressed or not. Wall-clock times
// stay in seconds, counts keep their 64 bits. An execution without times has crashed, unless its
// flag indicates otherwise; keys without executions are kept. A counter with a null among its
// values is omitted from its execution and reported in Problems. Fields that warmup_stats adds to
// the file are ignored. The errors wrap ErrFormat, or are those of r.
func ReadKrunJSON(r io.Reader, o FileOptions) (*dataset.Dataset, error) {
	text, err := unpackBzip2(r, o.size)
	if err != nil {
		return nil, fmt.Errorf("read Krun results: %w", err)
	}
	s := &jsonStream{Decoder: json.NewDecoder(&pythonJSON{from: bufio.NewReaderSize(text, 1<<16)})}
	f := krunFile{
		counts: map[string]map[string][][]counts{},
		flags:  map[string][]string{},
	}
	s.object(func(name string) { f.member(s, name, o) })
	s.end()
	if size := (*durable.UnpackError)(nil); errors.As(s.err, &size) {
		return nil,
			fmt.Errorf("read Krun results: %w; if you trust it, unpack it (bzip2 -d) and name what comes out",
				size)
	}
	if s.err != nil {
		return nil, fmt.Errorf("read Krun results: %w: %w", ErrFormat, s.err)
	}
	d, err := f.dataset()
	if err != nil {
		return nil, fmt.Errorf("read Krun results: %w: %w", ErrFormat, err)
	}
	return d, nil
}

// mostUnpacked limits the uncompressed size in bytes: many times that of the study's results.
const mostUnpacked = 8 << 30

// unpackBzip2 decompresses bzip2 data and passes other data through.
func unpackBzip2(r io.Reader, size int64) (io.Reader, error) {
	in := durable.NewPackedInput(r, size)
	magic, err := in.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(magic) == "BZh" {
		return in.Bound(bzip2.NewReader(in), mostUnpacked), nil
	}
	return in, nil
}

// krunFile holds the parts of a results file that are kept, by key as in the file.
type krunFile struct {
	keys   []string // of wall, in the order of the file
	wall   map[string][][]float64
	counts map[string]map[string][][]counts // by column, key, execution, core, iteration
	flags  map[string][]string
	uname  string
}

// krunColumns maps the per-core counters to their names in the file.
var krunColumns = map[string]string{
	"core_cycle_counts": dataset.CoreCycles,
	"aperf_counts":      dataset.APERF,
	"mperf_counts":      dataset.MPERF,
}

// member reads one member of the file's object.
func (f *krunFile) member(s *jsonStream, name string, o FileOptions) {
	column, isCount := krunColumns[name]
	switch {
	case name == "wallclock_times", name == "data": // data: in old files of Krun
		if f.wall != nil {
			s.fail(errors.New("wallclock_times occurs twice, perhaps as data"))
		}
		f.wall = map[string][][]float64{}
		s.object(func(key string) {
			if _, twice := f.wall[key]; twice {
				s.fail(fmt.Errorf("key %.200q occurs twice", key))
			}
			s.fail(tooLong("key", key))
			f.keys = append(f.keys, key)
			var executions [][]real
			s.value(&executions)
			f.wall[key] = make([][]float64, len(executions))
			for i, values := range executions {
				f.wall[key][i] = make([]float64, len(values))
				for k, v := range values {
					f.wall[key][i][k] = float64(v)
				}
			}
		})
	case isCount && (column == dataset.CoreCycles || o.Counters):
		f.counts[column] = map[string][][]counts{}
		s.object(func(key string) {
			var executions [][]counts
			s.value(&executions)
			f.counts[column][key] = executions
		})
	case name == "pexec_flags":
		s.value(&f.flags)
	case name == "audit":
		var audit any
		s.value(&audit)
		members, _ := audit.(map[string]any)
		f.uname, _ = members["uname"].(string)
	default:
		s.skip()
	}
}

// dataset builds the dataset from the lists.
func (f *krunFile) dataset() (*dataset.Dataset, error) {
	if f.wall == nil {
		return nil, errors.New(`there is no "wallclock_times"`)
	}
	d := &dataset.Dataset{Info: dataset.Info{Format: FormatKrun, Machine: machineOf(f.uname)}}
	for _, text := range f.keys {
		k, err := splitKey(text)
		if err != nil {
			return nil, err
		}
		pair := dataset.Pair{Key: k}
		for i := range f.wall[text] {
			e, err := f.execution(text, i)
			if err != nil {
				return nil, fmt.Errorf("key %q: %w", text, err)
			}
			pair.Executions = append(pair.Executions, e)
		}
		d.Pairs = append(d.Pairs, pair)
		d.Problems = append(d.Problems, f.leftOut(text)...)
	}
	return d, nil
}

// execution builds execution i of a key.
func (f *krunFile) execution(text string, i int) (dataset.Execution, error) {
	wall := f.wall[text]
	e := dataset.Execution{Number: i + 1, Outcome: results.Completed}
	if flags, ok := f.flags[text]; ok {
		if len(flags) != len(wall) {
			return e, fmt.Errorf("%d executions have %d flags", len(wall), len(flags))
		}
		var err error
		if e.Outcome, err = krunOutcome(flags[i]); err != nil {
			return e, err
		}
	}
	if len(wall[i]) == 0 && e.Outcome == results.Completed {
		e.Outcome = results.Error
		e.Reasons = []string{"it has no iterations: it crashed"}
	}
	e.Columns = []dataset.Column{{Name: dataset.Wall, Unit: dataset.Seconds, Core: dataset.NoCore,
		Reals: wall[i]}}
	for _, name := range []string{dataset.CoreCycles, dataset.APERF, dataset.MPERF} {
		executions, ok := f.counts[name][text]
		if !ok {
			continue
		}
		if len(executions) != len(wall) {
			return e, fmt.Errorf("%d executions have %s of %d", len(wall), name, len(executions))
		}
		if lacks(executions[i]) {
			continue
		}
		for core, values := range executions[i] {
			e.Columns = append(e.Columns, dataset.Column{Name: name, Unit: "cycles", Core: core,
				Counts: values})
		}
	}
	return e, nil
}

// lacks reports whether a core of a counter lacks values in an execution. The other cores are then
// useless, because only the sum of the cores and the busiest core are of interest.
func lacks(cores []counts) bool {
	return slices.ContainsFunc(cores, func(values counts) bool { return values == nil })
}

// leftOut lists the counters of a key that were not read because they contain null.
func (f *krunFile) leftOut(text string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(krunColumns)) {
		var numbers []string
		for i, cores := range f.counts[krunColumns[name]][text] {
			if lacks(cores) && len(f.wall[text][i]) > 0 {
				numbers = append(numbers, strconv.Itoa(i+1))
			}
		}
		if len(numbers) > 0 {
			problems = append(problems,
				fmt.Sprintf("%s: there are nulls among the %s of execution %s; that counter is left out "+
					"there, the times are kept",
					text, name, strings.Join(numbers, ", ")))
		}
	}
	return problems
}

func krunOutcome(flag string) (results.Outcome, error) {
	switch flag {
	case "C":
		return results.Completed, nil
	case "E":
		return results.Error, nil
	case "T":
		return results.Timeout, nil
	}
	return "", fmt.Errorf("flag %q is none of C, E, T", flag)
}

// splitKey parses "benchmark:vm:variant" as other tools write it, with any characters, and
// "benchmark:vm:variant@arm" as krund writes it.
func splitKey(text string) (key.Key, error) {
	if err := tooLong("key", text); err != nil {
		return key.Key{}, err
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return key.Key{}, fmt.Errorf("key %q has %d parts, not benchmark:vm:variant", text, len(parts))
	}
	k := key.Key{Benchmark: parts[0], VM: parts[1], Variant: parts[2]}
	if own, err := key.Parse(text); err == nil {
		k = own
	}
	return k, nil
}

// machineOf returns the machine's name from the output of uname -a: the second word, as in
// warmup_stats.
func machineOf(uname string) string {
	if words := strings.Fields(uname); len(words) > 1 {
		return words[1]
	}
	return ""
}
