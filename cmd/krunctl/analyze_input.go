package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"krund/internal/analysis/dataset"
	"krund/internal/exchange"
)

// analysisInput is one argument of analyze: the data, and where its analysis
// is kept.
type analysisInput struct {
	data   *dataset.Dataset
	output string
}

// analysisInput reads an experiment's folder or a file of results.
func (a *app) analysisInput(arg string, o analyzeOptions) (analysisInput, error) {
	in := analysisInput{output: o.output}
	var err error
	if a.isExperiment(arg) {
		in.data, err = a.readExperiment(arg, o.column)
		if in.output == "" {
			in.output = filepath.Join(folderOf(arg), "analysis.json")
		}
	} else {
		in.data, err = a.readResultsFile(arg, o)
		if in.output == "" {
			in.output = stem(arg) + ".analysis.json"
		}
	}
	if err != nil {
		return in, err
	}
	in.data.Source = arg
	return in, nil
}

// isExperiment says whether arg names an experiment of krund and not a file
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
	f, err := a.openFolder(arg)
	if err != nil {
		return nil, err
	}
	keep := func(name string) bool { return name == column || name == dataset.CoreCycles }
	d, err := exchange.ReadKrundResults(a.fsys, f.Results(), keep)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Dir(), err)
	}
	return d, nil
}

// readResultsFile reads a file by what its name says it is.
func (a *app) readResultsFile(name string, o analyzeOptions) (d *dataset.Dataset, err error) {
	file, err := a.fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	defer func() { err = firstOf(err, file.Close()) }()
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".csv"):
		d, err = exchange.ReadWarmupCSV(file, exchange.WarmupCSVOptions{VM: o.vm, Variant: o.variant, Uname: o.uname})
	case strings.HasSuffix(lower, ".json"), strings.HasSuffix(lower, ".bz2"):
		d, err = exchange.ReadKrunJSON(file, exchange.KrunOptions{Counters: o.column == dataset.APERF || o.column == dataset.MPERF})
	default:
		return nil, usageError{errors.New(name + " is neither an experiment's folder nor NAME.toml, nor a .csv, .json or .json.bz2 file of results")}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// stem takes the endings of a file of results off.
func stem(name string) string {
	for _, ending := range []string{".bz2", ".json", ".csv"} {
		if rest, ok := strings.CutSuffix(strings.ToLower(name), ending); ok {
			name = name[:len(rest)]
		}
	}
	return name
}
