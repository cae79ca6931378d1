package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/durable"
	"krund/internal/reading/experiment"
	"krund/internal/report"
	"krund/internal/report/console"
)

// optimizeOptions are the flags.
type optimizeOptions struct {
	format        string
	write         string
	changes       bool
	far           bool
	limit         float64
	metric        string
	skip          string
	parsedSkip    experiment.Skip
	iterationTime time.Duration
	overhead      time.Duration
	search        optimize.Options
	input         experiment.Selection
}

func optimizeCommand(a *app) *cobra.Command {
	var o optimizeOptions
	c := &cobra.Command{
		Use:   "optimize DIR|NAME.toml|FILE...",
		Short: "Which part of the experiment has a result as stable?",
		Args:  arguments(1, 1000, "experiments or files of results"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.optimize(args, o) },
	}
	o.flags(c.Flags())
	a.keyFlag(c, &o.input.Key)
	return c
}

func (o *optimizeOptions) flags(f *pflag.FlagSet) {
	formatFlag(f, &o.format, "text", "json", "csv")
	f.StringVar(&o.write, "write", "", "also write a section of a configuration for each key to this file")
	f.StringVar(&o.metric, "metric", string(optimize.RCIW3),
		"metric that must be stable: cv, rmad, rciw1, rciw2 or rciw3")
	f.Float64Var(&o.search.Threshold, "threshold", optimize.DefaultThreshold,
		"a result with a metric below it is stable")
	f.Float64Var(&o.search.Accuracy, "accuracy", optimize.DefaultAccuracy,
		"largest relative difference from the full result")
	f.BoolVar(&o.far, "far", false,
		"recommend also choices whose result is farther than --accuracy from the full one")
	f.Float64Var(&o.search.Level, "confidence", optimize.DefaultLevel, "confidence level of the intervals")
	f.IntVar(&o.search.Resamples, "resamples", optimize.DefaultResamples, "bootstrap resamples")
	f.Uint64Var(&o.search.Seed, "seed", 1, "seed of the bootstrap")
	f.IntVar(&o.search.Instances, "instances", 1, "number of machines to use, in files of µOpTime")
	f.IntVar(&o.search.Steps, "steps", optimize.DefaultSteps,
		"try about this many numbers of iterations (or executions); -1: all")
	f.BoolVar(&o.search.Published, "published", false,
		"compute like the authors' program, including its mistakes (docs/optimize.md)")
	f.IntVar(&o.search.Outermost, "at-least", 1, "minimum of executions (suite runs) to recommend")
	f.StringVar(&o.skip, "skip", "0",
		"iterations to skip at the start of each execution: a number, or steady")
	f.DurationVar(&o.iterationTime, "iteration-time", 0,
		"time of an iteration (default: as measured; 1s if values are times of an operation)")
	f.DurationVar(&o.overhead, "overhead", 0,
		"time of each execution in addition to its iterations, such as 3m")
	f.BoolVar(&o.changes, "changes", false, "the files are versions: compare the performance changes found")
	f.Float64Var(&o.limit, "change", optimize.DefaultChange, "smallest performance change that counts")
	f.StringVar(&o.input.Column, "column", dataset.Wall,
		"column to use: wall, cycles, ...; per-core columns are summed")
	namesFlags(f, &o.input.VM, &o.input.Variant)
	ruleFlag(f, "at-least", "far", "column", "seed", "confidence", "resamples", "steps", "instances",
		"published", "overhead", "iteration-time", "vm", "variant")
}

// check completes the options, and reports mistakes before any file is read.
func (o *optimizeOptions) check(files int) error {
	var err error
	if o.search.Metric, err = optimize.ParseMetric(o.metric); err != nil {
		return fmt.Errorf("--metric: %w", err)
	}
	s := o.search
	if s.Threshold == 0 || s.Accuracy == 0 || s.Level == 0 || s.Resamples == 0 || s.Instances == 0 ||
		s.Outermost == 0 || s.Steps == 0 { // which would be the defaults
		return errors.New("--threshold, --accuracy, --confidence, --resamples, --instances, --at-least and " +
			"--steps must not be 0")
	}
	if !(o.limit > 0) {
		return fmt.Errorf("--change must be positive, not %v", o.limit)
	}
	if o.iterationTime < 0 || o.overhead < 0 {
		return errors.New("--iteration-time and --overhead must not be negative")
	}
	o.search.Overhead = o.overhead.Seconds()
	o.search.Near, o.search.Workers = !o.far && !o.search.Published, runtime.NumCPU()
	if o.search, err = o.search.Complete(); err != nil {
		return err
	}
	switch {
	case o.changes && o.format == "csv":
		return errors.New("--changes has no CSV output; use --format json")
	case o.write != "" && (o.changes || files > 1):
		return errors.New("--write takes one experiment, without --changes")
	case o.write != "" && isRegular(o.write):
		return fmt.Errorf("--write: %s exists; name another file, or remove it", o.write)
	case o.changes && files < 2:
		return errors.New("--changes needs at least two versions")
	}
	if o.parsedSkip, err = experiment.ParseSkip(o.skip); err != nil {
		return fmt.Errorf("--skip %w", err)
	}
	return nil
}

// isRegular reports whether there is a regular file of that name, other than one to which the
// caller has redirected standard output.
func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && !isStdout(name) && !durable.IsDescriptor(name)
}

func (a *app) optimize(args []string, o optimizeOptions) error {
	if err := o.check(len(args)); err != nil {
		return usageError(err)
	}
	var versions []*optimize.Suite
	for i, arg := range args {
		s, err := a.reader(runtime.NumCPU()).Suite(arg, experiment.SuiteOptions{Selection: o.input,
			Skip: o.parsedSkip, Seconds: o.iterationTime.Seconds()})
		switch {
		case err != nil:
		case o.changes:
			versions = append(versions, s)
		default:
			err = a.optimizeOne(s, o, i)
		}
		if err != nil {
			return err
		}
	}
	if o.changes {
		return a.optimizeVersions(versions, o)
	}
	return nil
}

// optimizeOne optimizes experiment i of the arguments, from 0, and prints what was found.
func (a *app) optimizeOne(s *optimize.Suite, o optimizeOptions, i int) error {
	f, err := a.findings(s, o)
	if err != nil {
		return err
	}
	if o.write != "" {
		if err := a.writeSizes(f, o.write); err != nil {
			return err
		}
		if isStdout(o.write) {
			return nil
		}
	}
	return printing[*optimize.Findings]{
		json: o.format == "json", csv: o.format == "csv", rows: report.OptimizedRows,
		table: func(f *optimize.Findings) { report.OptimizedText(a.stdout, f) },
	}.print(a, i, f)
}

// writeSizes writes the recommendations as sections of a configuration.
func (a *app) writeSizes(f *optimize.Findings, name string) error {
	sizes, ok := f.Sizes()
	if !ok {
		return usageError(fmt.Errorf("--write: the benchmarks of %s have no benchmark:vm:variant and no "+
			"executions with iterations, so krund cannot run them", f.Source.Source))
	}
	if len(sizes) == 0 {
		return fmt.Errorf("--write: no key of %s is stable and near the full result with less; nothing is "+
			"written", f.Source.Source)
	}
	return a.toOutput(name, func(w io.Writer) error {
		report.OptimizedTOML(w, f.Source.Source, sizes)
		return nil
	})
}

func (a *app) findings(s *optimize.Suite, o optimizeOptions) (*optimize.Findings, error) {
	bar := console.NewProgress(a.stderr, a.now, s.Source)
	f, err := optimize.Find(s, o.search, func(done int) { bar.ShowKeys(done, len(s.Benchmarks)) })
	bar.Clear()
	if err != nil {
		return nil, fmt.Errorf("optimize %s: %w", s.Source, err)
	}
	return f, nil
}

// optimizeVersions compares the changes from version to version that full and reduced
// configurations find.
func (a *app) optimizeVersions(versions []*optimize.Suite, o optimizeOptions) error {
	f, err := a.findings(versions[0], o)
	if err != nil {
		return err
	}
	if err := f.FindChanges(versions, o.limit); err != nil {
		return fmt.Errorf("compare the versions: %w", err)
	}
	return a.answer(o.format, f, func() { report.ChangesText(a.stdout, f, o.limit) })
}
