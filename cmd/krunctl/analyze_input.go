package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/experiment"
	"krund/internal/key"
)

// analysisInput is one argument of analyze: the data, and where its analysis
// is kept.
type analysisInput struct {
	data    *dataset.Dataset
	output  string
	pattern *key.Pattern // of the keys that are in data; nil: all of the source
}

// analysisInput reads an experiment's directory or a file of results, and leaves out the keys that were not asked for.
func (a *app) analysisInput(arg string, o analyzeOptions) (analysisInput, error) {
	pattern, err := parsePattern(o.key)
	in := analysisInput{output: o.output, pattern: pattern}
	if err != nil {
		return in, err
	}
	if in.output == "" {
		in.output = a.analysisFile(arg)
	}
	if a.isExperiment(arg) {
		in.data, err = a.readExperiment(arg, o.column)
	} else {
		in.data, err = a.readResultsFile(arg, o)
	}
	if err != nil {
		return in, err
	}
	in.data.Source = arg
	a.tellLeftOut(arg, in.data)
	return in, onlyKeys(in.data, pattern)
}

// tellLeftOut says which records are not in the data.
func (a *app) tellLeftOut(arg string, d *dataset.Dataset) {
	for _, why := range d.LeftOut {
		a.leaveOut(arg, why)
	}
}

// analysisFile is where the analysis of arg is kept; "" for standard input, beside which there is
// no place.
func (a *app) analysisFile(arg string) string {
	switch {
	case a.isExperiment(arg):
		return filepath.Join(directoryOf(arg), "analysis.json")
	case durable.IsDescriptor(arg):
		return ""
	}
	return stem(arg) + ".analysis.json"
}

// isExperiment reports whether arg names an experiment of krund and not a file
// of results.
func (a *app) isExperiment(arg string) bool {
	if strings.HasSuffix(arg, ".toml") {
		return true
	}
	info, err := a.fsys.Lstat(arg)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Stat(arg)
		return err == nil && target.IsDir()
	}
	return err == nil && info.IsDir()
}

// readExperiment reads the columns an analysis of one of them needs.
func (a *app) readExperiment(arg, column string) (*dataset.Dataset, error) {
	f, err := a.openDirectory(arg)
	if err != nil {
		return nil, err
	}
	keep := func(name string) bool { return name == column || name == dataset.CoreCycles }
	d, err := experiment.ReadResults(a.fsys, f.Results(), keep)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Dir(), err)
	}
	return d, nil
}

// readResultsFile reads a file by what it is: CSV by its name, anything else by
// how it begins.
func (a *app) readResultsFile(name string, o analyzeOptions) (d *dataset.Dataset, err error) {
	file, err := durable.OpenUserFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	defer func() { err = firstOf(err, file.Close()) }()
	in := bufio.NewReaderSize(file, exchange.SniffSize)
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	head, err := in.Peek(exchange.SniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lower := strings.ToLower(name)
	format := exchange.Sniff(head)
	if format == "" && (strings.HasSuffix(lower, ".json") || strings.HasSuffix(lower, ".bz2")) {
		format = exchange.FormatKrun // whose reader says what is wrong
	}
	if strings.HasSuffix(lower, ".csv") {
		d, err = exchange.ReadWarmupCSV(in, exchange.WarmupCSVOptions{VM: o.vm, Variant: o.variant, Uname: o.uname})
	} else if format == exchange.FormatKrun {
		counters := o.column == dataset.APERF || o.column == dataset.MPERF
		d, err = exchange.ReadKrunJSON(in, exchange.KrunOptions{Counters: counters, Size: info.Size()})
	} else {
		d, err = readOther(in, format, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// readOther reads a file of another tool. Only times are analysed: of
// operations per second more is better, and each rule would say the opposite.
func readOther(in io.Reader, format string, o analyzeOptions) (*dataset.Dataset, error) {
	for _, tool := range importers {
		if tool.format != format {
			continue
		}
		d, err := tool.read(in, exchange.ImportOptions{VM: o.vm, Variant: o.variant})
		if err != nil {
			return nil, err
		}
		return d, onlyTimes(d)
	}
	return nil, usageError{errors.New("this is neither an experiment's directory nor NAME.toml, nor results of Krun (.json, .json.bz2), warmup_stats (.csv), JMH, pyperf or hyperfine (JSON) or go test -bench (text)")}
}

// onlyTimes refuses what was measured in another unit than time.
func onlyTimes(d *dataset.Dataset) error {
	for i := range d.Pairs {
		for j := range d.Pairs[i].Executions {
			if c, ok := d.Pairs[i].Executions[j].Column(dataset.Wall, dataset.NoCore); ok && c.Unit != dataset.Seconds {
				return fmt.Errorf("%s was measured in %s, and only times can be analysed; measure times (JMH: -bm avgt)", d.Pairs[i].Key, c.Unit)
			}
		}
	}
	return nil
}

// stem takes the endings of a file of results off.
func stem(name string) string {
	for _, ending := range []string{".bz2", ".json", ".csv", ".txt"} {
		if rest, ok := strings.CutSuffix(strings.ToLower(name), ending); ok {
			name = name[:len(rest)]
		}
	}
	return name
}
