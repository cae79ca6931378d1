package experiment

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
)

// Reader reads the arguments of commands: experiments, and results files of other tools.
type Reader struct {
	FS       durable.FS
	LeaveOut func(source, why string)         // is called for each record that cannot be used
	Message  func(format string, args ...any) // prints a line for the user
	Empty    func(source, why string)         // is called for a source without anything to analyze
	// Progress announces a long analysis of a source. It returns the functions to call with the
	// progress and at the end.
	Progress func(source string) (show func(warmup.Progress), end func())
	Workers  int // goroutines of an analysis

	NoPerformance bool                  // see warmup.Options
	SaysPrograms  bool                  // the output begins with dataset.Info.Programs
	Visit         func(*results.Record) // if not nil, is called for each record that can be used
	LinesApart    bool                  // see exchange.LinesApart
}

// Selection says what to read from an argument.
type Selection struct {
	Column             string // name of the column to analyze
	Key                string // text of --key
	VM, Variant, Uname string // what files of other tools lack

	// Clean leaves out instrumented keys. It is for statements about programs as they are without.
	Clean bool
}

// Input is the content of an argument.
type Input struct {
	Data     *dataset.Dataset
	Analysis string       // path of the stored analysis; "" if it is not stored
	Pattern  *key.Pattern // of the keys in Data; nil: all of the source
}

// Read reads the columns that an analysis needs, for the requested keys.
func (r Reader) Read(arg string, o Selection) (Input, error) {
	pattern, err := ParsePattern(o.Key)
	in := Input{Analysis: r.analysisFile(arg), Pattern: pattern}
	if err != nil {
		return in, err
	}
	if r.IsExperiment(arg) {
		in.Data, err = r.columns(arg,
			func(name string) bool { return name == o.Column || name == dataset.CoreCycles })
	} else {
		in.Data, err = exchange.ReadFile(arg, exchange.FileOptions{
			VM: o.VM, Variant: o.Variant, Uname: o.Uname,
			Counters: o.Column == dataset.APERF || o.Column == dataset.MPERF,
		})
	}
	if err != nil {
		return in, err
	}
	in.Data.Source = arg
	if r.LinesApart {
		if n := exchange.LinesApart(in.Data); n > 0 {
			r.Message("%s: %d lines of a benchmark are of one process: each counts as an execution, and "+
				"what differs from one process to the next is in no interval; to measure it, run go test so "+
				"often with -count 1", arg, n)
		}
	}
	r.reportPrograms(arg, in.Data)
	r.reportLeftOut(arg, in.Data)
	err = OnlyKeys(in.Data, pattern)
	if err == nil && o.Clean {
		err = r.onlyClean(arg, in.Data)
	}
	if why := nothing(in.Data); err == nil && why != "" {
		r.Empty(arg, why)
	}
	return in, err
}

// onlyClean removes the instrumented keys from d, with a message. It returns an error if no other
// key is there.
func (r Reader) onlyClean(arg string, d *dataset.Dataset) error {
	var instrumented []string
	d.Pairs = slices.DeleteFunc(d.Pairs, func(p dataset.Pair) bool {
		is := func(e dataset.Execution) bool { return e.Instrument != "" }
		if !slices.ContainsFunc(p.Executions, is) {
			return false
		}
		instrumented = append(instrumented, p.Key.String())
		return true
	})
	switch {
	case len(instrumented) == 0:
		return nil
	case len(d.Pairs) == 0:
		return fmt.Errorf("%s: every key is instrumented, which costs time, so that the result would not be "+
			"that of the program; measure it with instrument = \"off\"", arg)
	}
	r.Message("%s: left out %s, whose result would not be that of the program; the first: %s", arg,
		display.Count(len(instrumented), "instrumented key"), instrumented[0])
	return nil
}

// nothing returns why no execution has a series that could be analyzed, or "" if one has.
func nothing(d *dataset.Dataset) string {
	executions, first := 0, ""
	for _, p := range d.Pairs {
		for _, e := range p.Executions {
			if e.Outcome == results.Completed && len(e.Columns) > 0 && e.Columns[0].Len() > 0 {
				return ""
			}
			executions++
			if first == "" && len(e.Reasons) > 0 {
				first = fmt.Sprintf("; the first: %s, execution %d: %s", p.Key, e.Number, e.Reasons[0])
			}
		}
	}
	if executions == 0 {
		return "it has no executions"
	}
	return fmt.Sprintf("none of its %d executions was completed%s", executions, first)
}

// Series reads all columns of the argument, without events. config is the text of the experiment's
// configuration; "" if there is none.
func (r Reader) Series(arg string, o Selection) (d *dataset.Dataset, config string, err error) {
	if !r.IsExperiment(arg) {
		d, err := exchange.ReadFile(arg, exchange.FileOptions{VM: o.VM, Variant: o.Variant, Counters: true,
			AnyUnit: true})
		if err == nil {
			r.reportProblems(arg, d)
		}
		return d, "", err
	}
	if d, err = r.columns(arg, func(string) bool { return true }); err != nil {
		return nil, "", err
	}
	r.reportProblems(arg, d)
	e, err := Open(r.FS, Parts(r.FS, arg)[0])
	if err != nil {
		return nil, "", err
	}
	text, err := durable.ReadFile(r.FS, e.ConfigCopy())
	if err != nil {
		r.Message("%s: its configuration is not in the output: %v", arg, err)
	}
	return d, string(text), nil
}

// columns reads an experiment, or its parts on several machines as one.
func (r Reader) columns(arg string, keep func(string) bool) (*dataset.Dataset, error) {
	var parts []*dataset.Dataset
	var first *config.Config
	list, visit := Parts(r.FS, arg), r.Visit
	same := map[string]string{}
	if len(list) > 1 {
		same = r.sameConfigs(list)
	}
	began := map[started]string{} // directories
	for _, dir := range list {
		copied := ""
		r.Visit = func(rec *results.Record) {
			id := started{rec.BootID, rec.Process.PID, rec.Started}
			if other, again := began[id]; again && other != dir {
				copied = other
			}
			if !rec.Started.IsZero() {
				began[id] = dir
			}
			rec.ConfigHash = cmp.Or(same[rec.ConfigHash], rec.ConfigHash)
			if visit != nil {
				visit(rec)
			}
		}
		d, e, err := r.part(dir, keep)
		if err == nil && copied != "" {
			err = fmt.Errorf("%s: it has records of %s: one is a copy of the other, whose executions would "+
				"count twice; remove one", dir, copied)
		}
		if err != nil {
			return nil, err
		}
		if cfg, err := e.Config(d.Machine); err == nil {
			if first == nil {
				first = cfg
			}
			if what := planDiffers(first, cfg); what != "" {
				return nil, fmt.Errorf("%s: it is not of the same experiment as the first directory: the "+
					"configurations differ in %s", dir, what)
			}
		}
		if dir != DirectoryOf(arg) { // hosts of a lab may all have the same name
			d.Machine = MachineOf(dir)
		}
		parts = append(parts, d)
	}
	d, err := unite(parts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	return d, nil
}

// started identifies a process execution, in all directories. Where a directory was copied for a
// second machine, executions that are counted twice would make everything look more certain than it
// is.
type started struct {
	boot string
	pid  int
	at   time.Time
}

// part reads one directory.
func (r Reader) part(dir string, keep func(string) bool) (*dataset.Dataset, Experiment, error) {
	e, err := Open(r.FS, dir)
	if err != nil {
		return nil, e, err
	}
	latest, unknown := e.latest()
	present := identity.Configs(latest.Editions)
	d, err := readResults(r.FS, e.Results(), keep, latest, func(rec *results.Record) {
		rec.ConfigHash = cmp.Or(present[rec.ConfigHash], rec.ConfigHash)
		if r.Visit != nil {
			r.Visit(rec)
		}
	})
	if err != nil {
		return nil, e, fmt.Errorf("%s: %w", e.Dir(), err)
	}
	d.Programs = also(unknown, d.Programs)
	addArms(d, e)
	addStopped(d, e)
	addOutstanding(d, e)
	return d, e, nil
}

// reportPrograms says which keys were measured with different programs, before anything else.
func (r Reader) reportPrograms(arg string, d *dataset.Dataset) {
	if d.Programs != "" && !r.SaysPrograms {
		r.Message("%s: %s", arg, d.Programs)
	}
}

func (r Reader) reportLeftOut(arg string, d *dataset.Dataset) {
	for _, why := range d.LeftOut {
		r.LeaveOut(arg, why)
	}
}

// reportProblems reports the parts of the source that are missing from the data.
func (r Reader) reportProblems(arg string, d *dataset.Dataset) {
	r.reportPrograms(arg, d)
	r.reportLeftOut(arg, d)
	for _, problem := range d.Problems {
		if !slices.Contains(d.LeftOut, problem) {
			r.Message("%s: %s", arg, problem)
		}
	}
}

// Keyed is Analyzed for statements that need everything in the records: series reads an execution
// with all columns and events, by the indexes of its pair and of itself in the analysis. So one key
// need be in memory at a time.
func (r Reader) Keyed(arg, keys string) (in Input, doc *warmup.Document,
	series func(pair, execution int) (dataset.Execution, error), err error) {
	if in, doc, err = r.Analyzed(arg, keys, nil); err != nil {
		return in, nil, nil, err
	}
	if !r.IsExperiment(arg) {
		all, _, err := r.Series(arg, Selection{})
		return in, doc, func(pair, execution int) (dataset.Execution, error) {
			return all.Find(doc.Pairs[pair].ParsedKey()).Executions[execution], nil
		}, err
	}
	return in, doc, func(pair, execution int) (dataset.Execution, error) {
		read := &in.Data.Find(doc.Pairs[pair].ParsedKey()).Executions[execution]
		dir, file := filepath.Split(read.Record)
		name, _ := results.ParseName(file)
		rec, err := results.NewReader(r.FS, dir).Load(name)
		if err != nil {
			return dataset.Execution{}, err
		}
		e := Execution(&rec, nil)
		e.Number = read.Number
		return e, nil
	}, nil
}

// IsExperiment reports whether arg names an experiment of krund and not a file of results.
func (r Reader) IsExperiment(arg string) bool {
	if strings.HasSuffix(arg, ".toml") {
		return true
	}
	info, err := r.FS.Lstat(arg)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Stat(arg)
		return err == nil && target.IsDir()
	}
	return err == nil && info.IsDir()
}

// analysisFile returns the file of arg's analysis; "" for standard input.
func (r Reader) analysisFile(arg string) string {
	switch {
	case r.IsExperiment(arg):
		return filepath.Join(DirectoryOf(arg), "analysis.json")
	case durable.IsDescriptor(arg):
		return ""
	}
	return exchange.Stem(arg) + ".analysis.json"
}

// Stored returns the analysis at path; nil if there is no usable one.
func (r Reader) Stored(path string) *warmup.Document {
	text, err := durable.ReadFile(r.FS, path)
	if err != nil {
		return nil // the usual case: there is none yet
	}
	doc, err := warmup.Decode(text)
	if err != nil {
		r.Message("krunctl: %s is replaced: %v", path, err)
		return nil
	}
	return doc
}

// Analyze analyzes an input. Keys whose data and parameters have not changed are reused from
// previous, which may be nil.
func (r Reader) Analyze(in Input, p warmup.Parameters, previous *warmup.Document) (*warmup.Document, error) {
	show, end := r.Progress(in.Data.Source)
	damaged, first := 0, ""
	doc, err := warmup.Analyze(in.Data, p,
		warmup.Options{Workers: r.Workers, Previous: previous, Progress: show,
			NoPerformance: r.NoPerformance, Damaged: func(key string, why error) {
				if damaged++; damaged == 1 {
					first = fmt.Sprintf("%s: %v", key, why)
				}
			}})
	end()
	if err != nil {
		return nil, fmt.Errorf("analyze %s: %w", in.Data.Source, err)
	}
	if damaged > 0 {
		r.Message("krunctl: %s is damaged; %s analyzed anew (%s)", in.Analysis, display.Count(damaged, "key"),
			first)
	}
	return doc, nil
}

// Rules returns the parameters of the first stored analysis of the arguments; nil if there is none.
func (r Reader) Rules(args ...string) *warmup.Parameters {
	for _, arg := range args {
		if doc := r.Stored(r.analysisFile(arg)); doc != nil {
			return &doc.Parameters
		}
	}
	return nil
}

// Analyzed reads an argument with its stored analysis. If that is missing or of other data, it
// makes one with the same rules; without a stored analysis with the given ones, or if they are nil
// with the default ones. keys is the text of --key.
func (r Reader) Analyzed(arg, keys string, rules *warmup.Parameters) (Input, *warmup.Document, error) {
	p := warmup.Default(classify.Relative)
	if rules != nil {
		p = *rules
	}
	previous := r.Stored(r.analysisFile(arg))
	if previous != nil {
		p = previous.Parameters
	}
	in, err := r.Read(arg, Selection{Column: p.Column, Key: keys})
	if err != nil {
		return in, nil, err
	}
	doc, err := r.Analyze(in, p, previous)
	return in, doc, err
}

// HasArm reports an arm that the data lack.
func HasArm(d *dataset.Dataset, name string) error {
	switch {
	case slices.ContainsFunc(d.Pairs, func(p dataset.Pair) bool { return p.Key.Arm == name }):
		return nil
	case len(d.Arms) == 0:
		return fmt.Errorf("there is no arm %q; the experiment has no arms", name)
	}
	return fmt.Errorf("there is no execution of arm %q", name)
}
