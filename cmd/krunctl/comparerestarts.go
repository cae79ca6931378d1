package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"krund/internal/analysis/compare"
	"krund/internal/display"
	"krund/internal/experiment/results"
	"krund/internal/reading/restarts"
	"krund/internal/report"
)

// byRestart is what --by compares: kinds of restart.
const byRestart = "restart"

// rebootsJSON is the output of --json.
type rebootsJSON struct {
	Format  int               `json:"format"`
	Before  string            `json:"before"` // kind of restart
	After   string            `json:"after"`
	Compare *compare.Result   `json:"compare"`
	Spread  []restarts.Spread `json:"spread"`
}

// reboots compares executions after restarts of the hardware with those after faster ones.
func (a *app) reboots(args []string, o compareOptions) error {
	if len(args) > 1 || o.format != "text" && o.format != "json" {
		return usageError(errors.New("--by restart takes one experiment, and has the formats text and json"))
	}
	arg := args[0]
	o.failOn = "changed"
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
	if o.format == "json" {
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
