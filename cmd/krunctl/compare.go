package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

const compareHelp = `Compare reports for each key what changed, from one experiment to another or from
one arm of an experiment to another: how fast the steady state is, and the classes
of the executions; beside them the cost of warming up.

The verdict is better, worse, same, changed (other classes, neither better nor
worse) or cannot tell, with the reason and what would help. It holds for the whole
table: if nothing has changed, the probability that any key gets a verdict is at
most 1 - confidence (--correction holm). "same" means that a change of the margin
or more was excluded. Executions are compared, not iterations; at least two
completed executions are needed on each side, better ten. docs/statistics.md
explains the tests.

Of an experiment with arms, the first arm is compared with the other one, or those
of --arms with each other; with order = "blocked" within each block, so that drift
cancels. A null arm, a second copy of the first, is shown beside: no change is
reported that is not larger than the difference between the copies.

An experiment that several machines share is one directory with a directory of
each machine in it, NAME/MACHINE/NAME.krun. Executions are then compared within
machines, and the output reports how much the machines differ.

Both sides must have been analyzed with the same options (see krunctl analyze). A
side that was not analyzed is analyzed like the other one. Neither is changed.

An ID is that of an experiment on a hub: what its machines have shipped is fetched and
compared here. KRUNHUB_URL is the address of the hub, KRUNHUB_TOKEN a token
with the role reader or user.

--by restart shows whether faster restarts do for this machine: it compares the
executions after a restart of the hardware with those after a faster one
(experiment.reboot = "kexec" or "soft", and experiment.hardware_every). Below, for each
key: the variation between the executions that follow one restart of the hardware, the
variation between such restarts, and its share of the whole with a 95% interval. With a
large share, measure after many restarts of the hardware. The exit status is 1 if a key
differs.

EXAMPLES
  krunctl compare before.krun after.krun
  krunctl compare --calibrate ab.krun                the arms of an experiment
  krunctl compare --arms base,new2 ab.krun
  krunctl compare --format html -o ab.html ab.krun   a page with a plot of all effects
  krunctl compare --format markdown main.krun branch.krun > comment.md
  krunctl compare --format junit -o compare.xml main.krun branch.krun
  krunctl compare --fail-on changed main.krun branch.krun
  krunctl compare ab/                                ab/lab1/ab.krun, ab/lab2/ab.krun
  krunctl compare --by restart ladder.krun
  krunctl compare --format junit -o compare.xml 3v0c5n7xk2m9q4rt

EXIT STATUS
  0  no key got worse; with --fail-on changed: no key changed
  1  a key got worse (changed), or something could not be done
  2  wrong usage
  3  no key got worse (changed), but it cannot be judged: no key has two executions
     on each side, or a key has two before and fewer after, because they failed, or
     the null arm differs from the first one, or damaged records were left out;
     standard error says which
  4  an experiment of a hub has not ended`

// compareOptions are the flags.
type compareOptions struct {
	compare.Options
	format, output, key string
	arms, by            string
	correction, failOn  string
	calibrate           bool
	names               []string // of the arguments in the output; nil: their own
}

// failing are the verdicts that --fail-on names.
var failing = map[string][]compare.Verdict{
	"worse":   {compare.Worse},
	"changed": {compare.Worse, compare.Better, compare.Changed},
	"never":   nil,
}

func compareCommand(a *app) *cobra.Command {
	var o compareOptions
	command := &cobra.Command{
		Use:   "compare BEFORE AFTER | EXPERIMENT | ID...",
		Short: "Say what is faster: two experiments, or the arms of one",
		Long:  compareHelp,
		Args:  arguments(1, 2, "two experiments or files of results, or an experiment with arms"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return usageError(err)
			}
			if o.by == byRestart {
				if err := only(c, "--by restart", "by format key confidence margin"); err != nil {
					return err
				}
				return a.reboots(args, o)
			}
			if a.onHub(args) {
				return a.compareOnHub(contextOf(c), args, o)
			}
			return a.compare(args, o)
		},
	}
	f := command.Flags()
	formatFlag(f, &o.format, "text", "markdown", "html", "latex", "csv", "json", "junit", "svg", "pdf", "png")
	outputFlag(f, &o.output, "write to this file instead of standard output")
	a.keyFlag(command, &o.key)
	choiceFlag(f, &o.by, "by", "", "what is compared within one experiment", "arm", byRestart)
	f.Float64Var(&o.Confidence, "confidence", compare.DefaultConfidence, "confidence of the table")
	f.Float64Var(&o.Margin, "margin", compare.DefaultMargin,
		"changes smaller than this are the same: 0.01 is 1%")
	f.StringVar(&o.correction, "correction", string(compare.Holm),
		"for the number of tests: holm (step-down with intervals), bh (bounds the share of false verdicts "+
			"instead) or none")
	f.StringVar(&o.arms, "arms", "", "two arms, BEFORE,AFTER (default: the first and the other one)")
	f.IntVar(&o.FirstIterations, "first", compare.DefaultFirstIterations,
		"iterations whose total time is the cost of warming up")
	f.BoolVar(&o.calibrate, "calibrate", false,
		"also measure how often tables of these data without a change have a false verdict")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of --calibrate")
	f.StringVar(&o.failOn, "fail-on", "worse", "exit with 1 if a key is worse, changed, or never")
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
	if o.calibrate {
		o.Splits = compare.DefaultSplits
	}
	return nil
}

func (a *app) compare(args []string, o compareOptions) error {
	r := a.reader(runtime.NumCPU())
	r.NoPerformance = true // executions are compared, not bootstrapped
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
	sides, facts, err = o.sides(sides, facts)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", args[0], err))
	}
	result, err := compare.Of(sides[0], sides[1], o.Options)
	if err != nil {
		return err
	}
	report.Weaken(result, sides[0], sides[1], facts[0], facts[1])
	if err := a.toOutput(o.output,
		func(w io.Writer) error { return o.write(w, result) }); err != nil {
		return err
	}
	return a.judgement(result, o.failOn)
}

// sides returns the two sides of the comparison with their facts, and completes the options.
func (o *compareOptions) sides(of []compare.Side, facts []*report.Facts) ([]compare.Side, []*report.Facts,
	error) {
	var names []string
	if o.arms != "" {
		names = strings.Split(o.arms, ",")
	}
	if len(of) == 2 {
		for i := range names {
			of[i].Arm = names[i]
			if err := experiment.HasArm(of[i].Data, names[i]); err != nil {
				return nil, nil, err
			}
		}
		return of, facts, nil
	}
	data := of[0].Data
	if names == nil {
		var err error
		if names, err = defaultArms(data.Arms); err != nil {
			return nil, nil, err
		}
	}
	side := func(arm string) compare.Side { return compare.Side{Doc: of[0].Doc, Data: data, Arm: arm} }
	for _, name := range names {
		if err := experiment.HasArm(data, name); err != nil {
			return nil, nil, err
		}
	}
	o.Paired = data.Blocked
	null := slices.IndexFunc(data.Arms, func(a dataset.Arm) bool { return a.Null })
	if null > 0 && names[0] == data.Arms[0].Name && names[1] != data.Arms[null].Name {
		copied := side(data.Arms[null].Name)
		o.Null = &copied
	}
	return []compare.Side{side(names[0]), side(names[1])}, []*report.Facts{facts[0], facts[0]}, nil
}

// defaultArms returns the first arm and the only other one that is not a copy of it; if there is
// none, the copy.
func defaultArms(arms []dataset.Arm) ([]string, error) {
	if len(arms) < 2 {
		return nil, fmt.Errorf("there are no arms to compare; name a second experiment")
	}
	var others, copies []string
	for _, arm := range arms[1:] {
		if arm.Null {
			copies = append(copies, arm.Name)
		} else {
			others = append(others, arm.Name)
		}
	}
	if len(others) > 1 {
		return nil, fmt.Errorf("there are several arms; choose with --arms %s,%s", arms[0].Name, others[0])
	}
	return []string{arms[0].Name, append(others, copies...)[0]}, nil
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
		return report.CompareJUnit(w, r, failing[o.failOn])
	case "svg", "pdf", "png":
		return report.WritePlot(w, report.PlotFormat(o.format), [][]report.Drawing{report.ComparePlots(r)})
	}
	t := report.CompareTable(r)
	return t.Write(w, report.Format(o.format))
}
