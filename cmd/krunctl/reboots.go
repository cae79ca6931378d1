package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/compare"
	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/reading/restarts"
	"krund/internal/report"
)

const rebootsHelp = `Reboots shows whether faster restarts do for this machine. It compares, for each
key, the executions after a restart of the hardware with those after a faster one
(experiment.reboot = "kexec" or "soft", and experiment.hardware_every): the verdict
"same" means that a difference of the margin or more was excluded, with the error
rate of krunctl compare. "cannot tell" is no permission: measure more executions.

Below, for each key: the variation between the executions that follow one restart
of the hardware, the variation between such restarts, and its share of the whole
with a 95% interval. A large share means that the level differs from one restart of
the hardware to the next, and that executions by faster restarts all share it: then
measure after many restarts of the hardware, however fast the others are.

EXAMPLES
  krunctl reboots ladder.krun
  krunctl reboots --margin 0.02 --json ladder.krun

EXIT STATUS
  0  every key is the same after both kinds, within the margin
  1  a key differs, or something could not be done
  2  wrong usage
  3  no key differs, but some cannot be judged`

// rebootsJSON is the output of --json.
type rebootsJSON struct {
	Format  int               `json:"format"`
	Before  string            `json:"before"` // kind of restart
	After   string            `json:"after"`
	Compare *compare.Result   `json:"compare"`
	Spread  []restarts.Spread `json:"spread"`
}

func rebootsCommand(a *app) *cobra.Command {
	var o compareOptions
	var asJSON bool
	command := &cobra.Command{
		Use:   "reboots EXPERIMENT",
		Short: "Compare executions after restarts of the hardware with those after faster ones",
		Long:  rebootsHelp,
		Args:  arguments(1, 1, "an experiment"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.correction, o.failOn, o.FirstIterations = string(compare.Holm), "changed",
				compare.DefaultFirstIterations
			if err := o.check(); err != nil {
				return usageError(err)
			}
			return a.reboots(args[0], o, asJSON)
		},
	}
	f := command.Flags()
	a.keyFlag(command, &o.key)
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.Float64Var(&o.Confidence, "confidence", compare.DefaultConfidence, "confidence of the table")
	f.Float64Var(&o.Margin, "margin", compare.DefaultMargin,
		"differences smaller than this are the same: 0.01 is 1%")
	return command
}

func (a *app) reboots(arg string, o compareOptions, asJSON bool) error {
	r := a.reader(runtime.NumCPU())
	r.NoPerformance = true
	var order []restarts.Execution
	facts := &report.Facts{}
	r.Visit = func(record *results.Record) { // the kind of restart takes the place of the arm
		facts.Add(record)
		order = append(order, restarts.Execution{Key: record.Key, Number: record.Pexec, Kind: record.Reboot})
		if record.Key.Arm == "" {
			record.Key.Arm = record.Reboot
		}
	}
	in, doc, err := r.Analyzed(arg, o.key, r.Rules(arg))
	if err != nil {
		return err
	}
	kinds, err := restarts.Kinds(in, order)
	if err != nil {
		return fmt.Errorf("%s: %w", arg, err)
	}
	side := func(kind string) compare.Side { return compare.Side{Doc: doc, Data: in.Data, Arm: kind} }
	before, after := side(kinds[0]), side(kinds[1])
	result, err := compare.Of(before, after, o.Options)
	if err != nil {
		return err
	}
	report.Weaken(result, before, after, facts, facts)
	out := rebootsJSON{Format: 1, Before: kinds[0], After: kinds[1], Compare: result,
		Spread: restarts.Spreads(doc, order)}
	if asJSON {
		err = a.printJSON(out)
	} else {
		err = out.print(a.stdout)
	}
	if err != nil {
		return err
	}
	if err := a.judgement(result, o.failOn); err != nil {
		return err
	}
	if n := result.Counts[compare.CannotTell]; n > 0 {
		return fmt.Errorf("%w: %s", errUnjudged, display.Count(n, "key"))
	}
	return nil
}

// print writes the tables for people.
func (r rebootsJSON) print(w io.Writer) error {
	table := report.CompareTable(r.Compare)
	if err := table.Write(w, report.Format("text")); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nbefore: after a restart of the hardware; after: after %s\n\n", r.After)
	fmt.Fprintf(&b, "variation between restarts of the hardware (standard deviations of the levels)\n")
	for _, s := range r.Spread {
		if s.RestartSpread == nil {
			fmt.Fprintf(&b, "  %s: unknown; it needs at least two restarts of the hardware with several "+
				"executions of the key\n", s.Key)
			continue
		}
		fmt.Fprintf(&b, "  %s: %s between %d restarts, %s after the same one; share %.0f%% (%.0f%% to "+
			"%.0f%%), p = %.2g\n", s.Key, percent(s.Between), s.Boots, percent(s.Within), 100*s.Share,
			100*s.Range[0], 100*s.Range[1], s.P)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func percent(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
