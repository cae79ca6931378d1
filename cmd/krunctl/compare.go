package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"krund/internal/analysis/compare"
	"krund/internal/report"
)

const compareHelp = `Compare reports for each key what changed from one experiment to another: its
class, when it reaches the steady state, and how fast the steady state is.

The verdict combines class and steady performance: better, worse, same, or cannot
tell. Performance is judged by the ratio after/before with an interval from a
bootstrap over executions and iterations; where Welch's t interval of the
executions' means is wider, it is used instead. The confidence is corrected for
the number of keys. A ratio entirely below 1 is better, entirely above 1 worse,
entirely within the margin the same. The table also shows the criterion of
warmup_stats: whether the confidence intervals of the two overlap.

Both experiments must have been analyzed with the same options (see krunctl
analyze); those that were not analyzed are analyzed with the study's options.
Neither is changed.

EXAMPLES
  krunctl compare before.krun after.krun
  krunctl compare --format markdown main.krun branch.krun > comment.md

EXIT STATUS
  0  no key got worse
  1  a key got worse, or something could not be done
  2  wrong usage
  3  no key got worse, but damaged records were left out; standard error names
     them`

func compareCommand(a *app) *cobra.Command {
	var o tableOptions
	var c compare.Options
	command := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two experiments",
		Long:  compareHelp,
		Args:  arguments(2, 2, "two experiments or files of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := report.ParseFormat(o.format)
			switch {
			case err != nil:
				return usageError(err)
			case !(c.Confidence > 0 && c.Confidence < 1):
				return usageError(
					fmt.Errorf("--confidence must be between 0 and 1, such as 0.99, not %v", c.Confidence))
			case !(c.Margin > 0 && c.Margin < 1):
				return usageError(
					fmt.Errorf("--margin must be between 0 and 1, such as 0.01, not %v", c.Margin))
			}
			return a.compare(args[0], args[1], format, o, c)
		},
	}
	o.flags(a, command)
	command.Flags().Float64Var(&c.Confidence, "confidence", 0.99, "confidence of all intervals together")
	c.Workers = runtime.NumCPU()
	command.Flags().Float64Var(&c.Margin, "margin", 0.01,
		"largest difference from 1 of ratios that are the same")
	return command
}

func (a *app) compare(before, after string, f report.Format, t tableOptions, o compare.Options) error {
	var sides [2]compare.Side
	var facts [2]*report.Facts
	for i, arg := range []string{before, after} {
		in, doc, err := a.analyzed(arg, t.key)
		if err != nil {
			return err
		}
		sides[i] = compare.Side{Doc: doc, Data: in.Data}
		if facts[i], err = a.facts(in, arg); err != nil {
			return err
		}
	}
	r, err := compare.Of(sides[0], sides[1], o)
	if err != nil {
		return err
	}
	report.Weaken(r, sides[0].Doc, sides[1].Doc, facts[0], facts[1])
	if err := a.toOutput(t.output,
		func(w io.Writer) error { return writeComparison(w, r, f) }); err != nil {
		return err
	}
	if r.Counts[compare.Worse] > 0 {
		return errFound
	}
	return nil
}

func writeComparison(w io.Writer, r *compare.Result, f report.Format) error {
	switch f {
	case report.CSV:
		return report.CompareCSV(w, r)
	case report.JSON:
		return report.CompareJSON(w, r)
	}
	t := report.CompareTable(r)
	return t.Write(w, f)
}
