package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/compare"
	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/hub/submit"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

// compareOptions are the flags.
type compareOptions struct {
	compare.Options
	format, output, key string
	arms, by, base      string
	between             []string
	correction, failOn  string
	calibrate           bool
	inject              string
	names               []string // of the arguments in the output; nil: their own
}

// failing are the verdicts that --fail-on names.
var failing = map[string][]compare.Verdict{
	"":        nil, // it depends on what is compared
	"worse":   {compare.Worse},
	"changed": {compare.Worse, compare.Better, compare.Changed},
	"never":   nil,
}

func compareCommand(a *app) *cobra.Command {
	var o compareOptions
	command := &cobra.Command{
		Use:   "compare BEFORE AFTER | EXPERIMENT [--by PART] | ID...",
		Short: "Say what is faster: two experiments, or the VMs, arms, ... of one",
		Args:  arguments(1, 1000, "two experiments or files of results, or one"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return usageError(err)
			}
			args, err := o.inputs(a, args)
			if err != nil {
				return usageError(err)
			}
			if a.onHub(args) {
				return a.compareOnHub(c.Context(), args, o)
			}
			return a.compare(args, o)
		},
	}
	f := command.Flags()
	formatFlag(f, &o.format, "text", "markdown", "html", "latex", "csv", "json", "junit", "svg", "pdf", "png")
	outputFlag(f, &o.output, "write to this file instead of standard output")
	a.keyFlag(command, &o.key)
	choiceFlag(f, &o.by, "by", "", "what differs between the keys that are compared", "auto", "vm", "variant",
		"arm", "benchmark", "machine", "restart")
	f.StringVar(&o.base, "base", "", "the VM, arm, ... that others are compared with (default the first)")
	f.StringArrayVar(&o.between, "between", nil, "KEY KEY: compare these two keys")
	f.Float64Var(&o.Confidence, "confidence", compare.DefaultConfidence, "confidence of the table")
	f.Float64Var(&o.Margin, "margin", compare.DefaultMargin,
		"changes smaller than this are the same: 0.01 is 1%")
	f.StringVar(&o.correction, "correction", string(compare.Holm),
		"for the number of tests: holm (step-down with intervals), bh (bounds the share of false verdicts "+
			"instead) or none")
	f.StringVar(&o.arms, "arms", "", "two arms, BEFORE,AFTER: --by arm --base BEFORE, for one")
	hide(f, "arms")
	f.IntVar(&o.FirstIterations, "first", compare.DefaultFirstIterations,
		"iterations whose total time is the cost of warming up")
	f.BoolVar(&o.calibrate, "calibrate", false,
		"also measure how often tables of these data without a change have a false verdict")
	f.StringVar(&o.inject, "inject", "",
		"also say how often a slowdown of one key of this size, such as 1%, would have been found")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of --calibrate and --inject")
	f.StringVar(&o.failOn, "fail-on", "", "exit with 1 if a key is worse, changed, or never (default worse; "+
		"changed for kinds of restart; never for VMs, variants, benchmarks and machines)")
	return command
}

// check completes the options, and reports mistakes in the flags.
func (o *compareOptions) check() error {
	var err error
	if o.Correction, err = compare.ParseCorrection(o.correction); err != nil {
		return fmt.Errorf("--correction: %w", err)
	}
	if _, ok := failing[o.failOn]; !ok {
		return fmt.Errorf("--fail-on must be worse, changed or never, not %q", o.failOn)
	}
	switch {
	case !(o.Confidence >= 0.5 && o.Confidence < 1):
		return fmt.Errorf("--confidence must be between 0.5 and 1, such as 0.95, not %v", o.Confidence)
	case !(o.Margin > 0 && o.Margin < 1):
		return fmt.Errorf("--margin must be between 0 and 1, such as 0.01, not %v", o.Margin)
	case o.FirstIterations < 1:
		return fmt.Errorf("--first must be a number of iterations, not %d", o.FirstIterations)
	case o.arms != "" && len(strings.Split(o.arms, ",")) != 2:
		return fmt.Errorf("--arms must name two arms, such as base,new, not %q", o.arms)
	}
	if o.calibrate || o.inject != "" {
		o.Splits = compare.DefaultSplits
	}
	if o.inject == "" {
		return nil
	}
	if o.calibrate {
		return errors.New("--calibrate and --inject make tables of the same data: ask one after the other")
	}
	o.Inject, err = share("inject", o.inject)
	return err
}

func (a *app) compare(args []string, o compareOptions) error {
	r := a.reader(runtime.NumCPU())
	r.NoPerformance, r.LinesApart = true, true // executions are compared, not bootstrapped
	r.SaysPrograms = o.output == "" && (o.format == "text" || o.format == "markdown")
	rules := r.Rules(args...)
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	var sides []compare.Side
	var facts []*report.Facts
	for i, arg := range args {
		of := &report.Facts{}
		r.Visit = func(record *results.Record) {
			if pattern == nil || pattern.Match(record.Key) {
				of.Add(record)
			}
		}
		in, doc, err := r.Analyzed(arg, o.key, rules)
		if err != nil {
			return err
		}
		if o.names != nil {
			doc.Source.Name = o.names[i]
		}
		if in.Data.Format != experiment.Format {
			of = nil
		}
		sides, facts = append(sides, compare.Side{Doc: doc, Data: in.Data}), append(facts, of)
	}
	result, err := o.of(sides, facts)
	if _, ok := errors.AsType[*compare.NoGroupsError](err); ok && o.by != string(compare.ByRestart) {
		return usageError(fmt.Errorf("%s: %w", args[0], err))
	} else if err != nil {
		return err
	}
	if err := a.toOutput(o.output,
		func(w io.Writer) error { return o.write(w, result) }); err != nil {
		return err
	}
	next := experiment.MoreCommand(args, result.More())
	if next != "" && o.format == "text" && o.output == "" {
		a.print("\n`%s` measures as many more of each key\n", next)
	}
	return a.judgement(result, cmp.Or(o.failOn, result.FailOn()))
}

// of compares two experiments, or the keys of those that were given.
func (o *compareOptions) of(sides []compare.Side, facts []*report.Facts) (*compare.Result, error) {
	choice := compare.Choice{Base: o.base, Between: o.between}
	if o.by != "auto" {
		choice.By = compare.Factor(o.by)
	}
	arms := strings.Split(o.arms, ",")
	if len(sides) == 2 && o.by == "auto" && o.between == nil {
		for i := range sides {
			if o.arms != "" {
				sides[i].Arm = arms[i]
				if err := experiment.HasArm(sides[i].Data, arms[i]); err != nil {
					return nil, usageError(err)
				}
			}
		}
		result, err := compare.Of(sides[0], sides[1], o.Options)
		if err == nil {
			report.Weaken(result, sides[0], sides[1], facts[0], facts[1])
		}
		return result, err
	}
	if o.arms != "" {
		choice.By, choice.Base, choice.Only = compare.ByArm, arms[0], arms[1:]
	}
	return report.Grouped(choice, o.Options, sides, facts)
}

// inputs takes the second key of --between KEY KEY, which looks like an argument, from the others.
func (o *compareOptions) inputs(a *app, args []string) ([]string, error) {
	if len(o.between) == 1 && len(args) > 1 {
		at := slices.IndexFunc(args, func(arg string) bool { return strings.Count(arg, ":") > 1 })
		if at < 0 {
			at = slices.IndexFunc(args, func(arg string) bool {
				_, err := a.fsys.Lstat(arg)
				return err != nil
			})
		}
		if at >= 0 {
			o.between = append(o.between, args[at])
			args = slices.Delete(slices.Clone(args), at, at+1)
		}
	}
	switch {
	case len(o.between) == 1 && len(args) > 1:
		return nil, fmt.Errorf("--between needs two keys, and %s are files or directories here; name the "+
			"second key with --between, too: --between %s --between KEY EXPERIMENT", strings.Join(args, ", "),
			display.ShellQuote(o.between[0]))
	case o.between != nil && len(o.between) != 2:
		return nil, fmt.Errorf("--between needs two keys, such as --between a:CPython:v a:PyPy:v")
	case o.between != nil && (o.by != "auto" || o.base != ""):
		return nil, fmt.Errorf("--between names what is compared; leave out --by and --base")
	case o.by == "auto" && o.between == nil && (len(args) > 2 || o.base != "" && len(args) > 1):
		return nil, fmt.Errorf("say with --by what differs between the keys, such as vm or benchmark")
	}
	return args, nil
}

// judgement returns the error for the exit status.
func (a *app) judgement(r *compare.Result, failOn string) error {
	for _, v := range failing[failOn] {
		if r.Counts[v] > 0 {
			return errFound
		}
	}
	switch {
	case failOn == "never", len(a.empty) > 0: // the latter is an error of its own
		return nil
	case r.TestsSteady == 0:
		if !slices.ContainsFunc(r.Changes, func(c compare.Change) bool { return c.OnlyIn == "" }) {
			return fmt.Errorf("%w: no key is on both sides; give what you compare the same name (with "+
				"hyperfine: -n NAME)", errUnjudged)
		}
		if i := slices.IndexFunc(r.Changes, func(c compare.Change) bool { return c.Apart() }); i >= 0 {
			return fmt.Errorf("%w: %s: %s", errUnjudged, r.Changes[i].Key, r.Changes[i].Reason)
		}
		return fmt.Errorf("%w: no key has two completed executions on each side", errUnjudged)
	case r.Groups != nil && r.Groups.By == compare.ByRestart && r.Counts[compare.CannotTell] > 0:
		return fmt.Errorf("%w: %s", errUnjudged, display.Count(r.Counts[compare.CannotTell], "key"))
	case lost(r) != "":
		return fmt.Errorf("%w: %s ran before, and has fewer than two completed executions after", errUnjudged,
			lost(r))
	case r.NullArm != nil && r.NullArm.Unfit:
		return fmt.Errorf("%w: the null arm differs from the first one; see the warnings", errUnjudged)
	}
	return nil
}

// lost returns the first key on both sides whose executions fail after, but not before; "" if none.
func lost(r *compare.Result) string {
	for _, c := range r.Changes {
		const fewest = 2
		if c.OnlyIn == "" && len(c.ExecutionsBefore) >= fewest && len(c.ExecutionsAfter) < fewest {
			return c.Key
		}
	}
	return ""
}

// write writes a comparison in the format that was asked for.
func (o *compareOptions) write(w io.Writer, r *compare.Result) error {
	switch o.format {
	case "markdown":
		return report.CompareMarkdown(w, r)
	case "html":
		return report.ComparePage(w, r, display.Version())
	case "csv":
		return report.CompareCSV(w, r)
	case "json":
		return report.CompareJSON(w, r)
	case "junit":
		return report.CompareJUnit(w, r, failing[cmp.Or(o.failOn, r.FailOn())])
	case "svg", "pdf", "png":
		return report.WritePlot(w, report.PlotFormat(o.format), [][]report.Drawing{report.ComparePlots(r)})
	}
	t := report.CompareTable(r)
	return t.Write(w, report.Format(o.format))
}

// onHub reports whether the arguments are ids of experiments on a hub: there are no such files.
func (a *app) onHub(args []string) bool {
	const shortest = 16 // letters and digits of an id
	_, err := a.fsys.Lstat(args[0])
	return err != nil && len(args[0]) >= shortest && strings.Trim(args[0],
		"0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// compareOnHub fetches experiments of a hub into a temporary directory, and compares them there.
func (a *app) compareOnHub(ctx context.Context, ids []string, o compareOptions) error {
	client, err := a.hubClient()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "krunctl-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is temporary
	var dirs, names []string
	for i, id := range ids {
		one := filepath.Join(dir, fmt.Sprint(i))
		name, err := submit.Fetch(ctx, client, id, one)
		if err != nil {
			return err
		}
		one = filepath.Join(one, name)
		dirs, o.names = append(dirs, one), append(o.names, name+" ("+id+")")
		names = append(names, one, o.names[i])
	}
	replace := strings.NewReplacer(names...)
	a.stderr = renaming{a.stderr, replace}
	err = a.compare(dirs, o)
	if message(err) == "" { // success, or a verdict
		return err
	}
	return renamed{err, replace}
}

// renaming writes messages in which temporary directories have the names of their experiments.
type renaming struct {
	io.Writer
	replace *strings.Replacer
}

func (r renaming) Write(text []byte) (int, error) {
	if _, err := r.replace.WriteString(r.Writer, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// renamed is an error with such a message.
type renamed struct {
	error
	replace *strings.Replacer
}

func (r renamed) Error() string { return r.replace.Replace(r.error.Error()) }
func (r renamed) Unwrap() error { return r.error }
