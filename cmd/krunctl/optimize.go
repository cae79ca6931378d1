package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/optimize"
	"krund/internal/experiment"
	"krund/internal/report"
)

const optimizeHelp = `Optimize says with how few executions and iterations each key would have had a
result as stable as is wanted, and what that saves (µOpTime, Japke et al., TOSEM
2025). Measure once in full, and later versions with what it recommends.

A metric says how unstable a result is, relative to it:
  cv     standard deviation, of the mean
  rmad   median absolute deviation, of the median
  rciw1  width of the 99% interval of the mean, by percentiles of a bootstrap
  rciw2  the same, by bootstrap-t; it asks for most
  rciw3  width of the 99% interval of the median. It is for VMs that warm up
Every smaller number of executions and iterations is tried with the data that it
would have measured. Those whose metric is below --threshold are stable; the one
that takes the least time is recommended. It may be stable at another level than the
full result: --near leaves such ones out. docs/optimize.md has the equations.

Beside each recommendation: what it saves; how far its result is "off" the full
one; all metrics; and "confident": of other choices of as many executions, how
many have a result within --accuracy of the full one. Executions differ from each
other in ways that a few do not show: --at-least keeps so many. Then what all keys save,
beside two baselines: always the least, and a choice at random.

It reads what krunctl analyze reads, and result files of µOpTime's runner (CSV
with b_name,...,ns_per_op; also .gz). Iterations count from the first, warmup
included, unless --skip leaves the first ones of each execution out: a number, or
"steady" for those before the steady state (see krunctl analyze). The time is that
of the iterations; --overhead adds what each execution costs besides, such as
a reboot. Of go test -bench, an execution is a test binary, an iteration a line;
with --suite-runs each FILE is a suite run of one experiment.

With --changes, the files are versions of one program, oldest first: what the
first one recommends is applied to all, and the performance changes that it finds
from each version to the next are compared with those of all data.

EXAMPLES
  krunctl optimize --near warmup.toml
  krunctl optimize --metric rmad --threshold 0.005 --skip steady warmup.krun
  krunctl optimize --overhead 3m --json warmup.krun | jq '.keys[] | {key, minimal}'
  krunctl optimize --csv warmup.krun > minimal.csv
  krunctl optimize --changes --metric rmad v1.csv v2.csv v3.csv
` + readExitHelp

// optimizeOptions are the flags.
type optimizeOptions struct {
	json, csv     bool
	changes       bool
	suiteRuns     bool
	limit         float64
	metric        string
	skip          string
	parsedSkip    experiment.Skip
	iterationTime time.Duration
	overhead      time.Duration
	search        optimize.Options
	input         experiment.Options
}

func optimizeCommand(a *app) *cobra.Command {
	var o optimizeOptions
	c := &cobra.Command{
		Use:     "optimize DIR|NAME.toml|FILE...",
		Aliases: []string{"optimise"}, // as it was called first
		Short:   "Say with how few executions and iterations results would be as good",
		Long:    optimizeHelp,
		Args:    arguments(1, 1000, "experiments or files of results"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.optimize(args, o) },
	}
	o.flags(c.Flags())
	a.keyFlag(c, &o.input.Key)
	return c
}

func (o *optimizeOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.csv, "csv", false, "print CSV: a row for each key")
	f.StringVar(&o.metric, "metric", string(optimize.RCIW3), "what is to be stable: cv, rmad, rciw1, rciw2 or rciw3")
	f.Float64Var(&o.search.Threshold, "threshold", optimize.DefaultThreshold, "a metric below it is stable")
	f.Float64Var(&o.search.Accuracy, "accuracy", optimize.DefaultAccuracy, "how far a result may be from the full one, relatively")
	f.BoolVar(&o.search.Near, "near", false, "recommend only what has a result within --accuracy of the full one")
	f.Float64Var(&o.search.Level, "confidence", optimize.DefaultLevel, "of the intervals")
	f.IntVar(&o.search.Resamples, "resamples", optimize.DefaultResamples, "bootstrap resamples")
	f.Uint64Var(&o.search.Seed, "seed", 1, "seed of the bootstrap")
	f.IntVar(&o.search.Instances, "instances", 1, "machines whose values count, in files of µOpTime")
	f.IntVar(&o.search.Steps, "steps", optimize.DefaultSteps, "try about so many numbers of iterations (or executions) where there are more; -1: all")
	f.BoolVar(&o.search.Published, "published", false, "compute as the authors' program did, mistakes included (docs/optimize.md)")
	f.IntVar(&o.search.Outermost, "at-least", 1, "recommend no fewer executions (suite runs)")
	f.StringVar(&o.skip, "skip", "0", "iterations to leave out at the start of each execution: a number, or steady")
	f.DurationVar(&o.iterationTime, "iteration-time", 0, "time of an iteration (default: as measured; 1s where values are times of an operation)")
	f.DurationVar(&o.overhead, "overhead", 0, "time that each execution takes besides its iterations, such as 3m")
	f.BoolVar(&o.suiteRuns, "suite-runs", false, "each FILE is a suite run of one experiment")
	f.BoolVar(&o.changes, "changes", false, "the files are versions: find performance changes in full and in part")
	f.Float64Var(&o.limit, "change", optimize.DefaultChange, "smallest performance change that counts")
	jobsFlag(f, &o.search.Workers)
	f.StringVar(&o.input.Column, "column", dataset.Wall, "column to look at: wall, cycles, ...; of per-core columns the sum")
	f.StringVar(&o.input.VM, "vm", "", "name of the VM where the file does not say")
	f.StringVar(&o.input.Variant, "variant", "", "name of the variant (language) where the file does not say")
}

// check completes the options, or refuses them before files are read.
func (o *optimizeOptions) check(files int) error {
	var err error
	if o.search.Metric, err = optimize.ParseMetric(o.metric); err != nil {
		return fmt.Errorf("--metric: %w", err)
	}
	s := o.search
	if s.Threshold == 0 || s.Accuracy == 0 || s.Level == 0 || s.Resamples == 0 || s.Instances == 0 || s.Outermost == 0 || s.Steps == 0 || !(o.limit > 0) { // zeros would be the defaults
		return errors.New("--threshold, --accuracy, --confidence, --resamples, --instances, --at-least, --steps and --change are above 0")
	}
	if o.iterationTime < 0 || o.overhead < 0 {
		return errors.New("--iteration-time and --overhead are no times before 0")
	}
	o.search.Overhead = o.overhead.Seconds()
	if o.search, err = o.search.Complete(); err != nil {
		return err
	}
	switch {
	case o.json && o.csv:
		return errors.New("--json and --csv: one of them")
	case o.changes && o.csv:
		return errors.New("--changes has no table of keys; --json has all of it")
	case o.changes && o.suiteRuns:
		return errors.New("--changes takes versions, --suite-runs parts of one experiment")
	case o.changes && files < 2:
		return errors.New("--changes needs two versions or more")
	case s.Workers < 1:
		return fmt.Errorf("-j %d: at least 1 processor is needed", s.Workers)
	}
	if o.parsedSkip, err = experiment.ParseSkip(o.skip); err != nil {
		return fmt.Errorf("--skip %w", err)
	}
	return nil
}

// reading says what to read of the arguments.
func (o *optimizeOptions) reading() experiment.SuiteOptions {
	return experiment.SuiteOptions{Options: o.input, Skip: o.parsedSkip, Seconds: o.iterationTime.Seconds()}
}

func (a *app) optimize(args []string, o optimizeOptions) error {
	if err := o.check(len(args)); err != nil {
		return usageError(err)
	}
	switch {
	case o.changes:
		return a.optimizeVersions(args, o)
	case o.suiteRuns:
		s, err := a.reader(o.search.Workers).SuiteRuns(args, o.reading())
		if err != nil {
			return err
		}
		return a.optimizeOne(s, o, true)
	}
	for i, arg := range args {
		s, err := a.reader(o.search.Workers).Suite(arg, o.reading())
		if err != nil {
			return err
		}
		if i > 0 && !o.json && !o.csv {
			a.print("\n")
		}
		if err := a.optimizeOne(s, o, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// optimizeOne optimizes one experiment and prints what was found.
func (a *app) optimizeOne(s *optimize.Suite, o optimizeOptions, first bool) error {
	f, err := a.findings(s, o)
	if err != nil {
		return err
	}
	switch {
	case o.json:
		return a.printJSON(f.Document())
	case o.csv:
		return f.WriteCSV(csv.NewWriter(a.stdout), first)
	}
	report.OptimizedText(a.stdout, f, o.search)
	return nil
}

func (a *app) findings(s *optimize.Suite, o optimizeOptions) (*optimize.Findings, error) {
	bar := newProgressBar(a, s.Source)
	f, err := optimize.Find(s, o.search, func(done int) { bar.showKeys(done, len(s.Benchmarks)) })
	bar.clear()
	if err != nil {
		return nil, fmt.Errorf("optimize %s: %w", s.Source, err)
	}
	return f, nil
}

// optimizeVersions compares what full and reduced configurations find from
// version to version.
func (a *app) optimizeVersions(args []string, o optimizeOptions) error {
	versions := make([]*optimize.Suite, len(args))
	for i, arg := range args {
		var err error
		if versions[i], err = a.reader(o.search.Workers).Suite(arg, o.reading()); err != nil {
			return err
		}
	}
	f, err := a.findings(versions[0], o)
	if err != nil {
		return err
	}
	if err := f.FindChanges(versions, o.limit); err != nil {
		return fmt.Errorf("compare %s: %w", strings.Join(args, ", "), err)
	}
	if o.json {
		return a.printJSON(f.Document())
	}
	report.ChangesText(a.stdout, f, o.search, o.limit)
	return nil
}
