package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"krund/internal/analysis/compare"
	"krund/internal/report"
)

const compareHelp = `Compare says of each key what changed from one experiment to another: its
class, when it gets steady, and how fast it then is.

The verdict is that of class and steady performance: better, worse, same, or
cannot tell. Performance is judged by the ratio after/before with an interval
from a bootstrap over executions and iterations; where Welch's t interval of the
executions' means reaches further, that one counts. The confidence is corrected
for the number of keys. A ratio wholly below 1 is better, above worse, wholly within
the margin the same. Beside it stands what warmup_stats would say: whether the
confidence intervals of the two overlap.

Both must have been analysed with the same options (see krunctl analyze); what has
not been analysed is, with the study's. Neither is changed.

EXAMPLES
  krunctl compare before.krun after.krun
  krunctl compare --format markdown main.krun branch.krun > comment.md

EXIT STATUS
  0  no key got worse
  1  a key got worse, or something could not be done
  2  wrong usage
  3  no key got worse, without damaged records; standard error names them`

func compareCommand(a *app) *cobra.Command {
	var o tableOptions
	var c compare.Options
	command := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Say what changed between two experiments",
		Long:  compareHelp,
		Args:  arguments(2, 2, "two experiments or files of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := report.ParseFormat(o.format)
			switch {
			case err != nil:
				return usageError(err)
			case !(c.Confidence > 0 && c.Confidence < 1):
				return usageError(fmt.Errorf("--confidence %v: a number between 0 and 1, such as 0.99", c.Confidence))
			case !(c.Margin > 0 && c.Margin < 1):
				return usageError(fmt.Errorf("--margin %v: a number between 0 and 1, such as 0.01", c.Margin))
			}
			return a.compare(args[0], args[1], format, o, c)
		},
	}
	o.flags(a, command)
	command.Flags().Float64Var(&c.Confidence, "confidence", 0.99, "confidence of all intervals together")
	c.Workers = runtime.NumCPU()
	command.Flags().Float64Var(&c.Margin, "margin", 0.01, "ratios so near to 1 are the same")
	return command
}

func (a *app) compare(before, after string, f report.Format, t tableOptions, o compare.Options) error {
	var sides [2]compare.Side
	var facts [2]*report.Facts
	for i, arg := range []string{before, after} {
		in, doc, err := a.analysed(arg, t.key)
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
	if err := a.toOutput(t.output, func(w io.Writer) error { return writeComparison(w, r, f) }); err != nil {
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
