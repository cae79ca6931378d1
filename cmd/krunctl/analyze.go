package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/compare"
	"krund/internal/analysis/dataset"
	"krund/internal/analysis/similarity"
	"krund/internal/analysis/warmup"
	"krund/internal/durable"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

// analyzeOptions are the flags. Empty texts keep the default of the mode.
type analyzeOptions struct {
	similarity, table bool
	format, output    string
	mode              string
	steady, delta     string
	rules             []string // NAME=VALUE
	experiment.Selection
}

func analyzeCommand(a *app) *cobra.Command {
	var o analyzeOptions
	c := &cobra.Command{
		Use:   "analyze DIR|NAME.toml|FILE...",
		Short: "Classify executions; find the steady state and its speed",
		Args:  arguments(1, 1000, "experiments or files of results"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.similarity {
				if err := only(c, "--similarity", "similarity format key column vm variant"); err != nil {
					return err
				}
				return a.similarity(args, o)
			}
			o.table = o.table || o.format != "text" && o.format != "json"
			if o.table && only(c, "a table", "table format output key") == nil {
				return a.tables(args, o)
			}
			return a.analyze(args, o)
		},
	}
	o.flags(c.Flags())
	a.keyFlag(c, &o.Key)
	return c
}

func (o *analyzeOptions) flags(f *pflag.FlagSet) {
	formatFlag(f, &o.format, "text", "markdown", "html", "latex", "csv", "json")
	f.BoolVar(&o.table, "table", false, "print the study's tables, also as text and JSON")
	outputFlag(f, &o.output, "write to this file instead of standard output")
	f.BoolVar(&o.similarity, "similarity", false, "report how similar the executions of each key are")
	f.StringVar(&o.mode, "mode", classify.Relative.String(), "rules: relative or paper")
	f.StringVar(&o.Column, "column", dataset.Wall,
		"column to analyze: wall, cycles, ...; per-core columns are summed")
	f.StringVar(&o.steady, "steady", "",
		"iterations at the end that must be steady, an amount (default 25%)")
	f.StringVar(&o.delta, "delta", "",
		"smallest relevant difference: seconds, or a percentage (default 1%; mode paper: 0.001)")
	f.StringArrayVar(&o.rules, "rule", nil, "NAME=VALUE, repeatable: outliers, window, penalty, cost, "+
		"raw-deltas, resamples, seed (docs/analysis.md)")
	namesFlags(f, &o.VM, &o.Variant)
	f.StringVar(&o.Uname, "uname", "", "output of uname -a on the machine that measured, for CSV files")
	hide(f, "uname")
}

func (a *app) analyze(args []string, o analyzeOptions) error {
	if o.output != "" && len(args) > 1 {
		return usageError(fmt.Errorf("-o names one file for %d analyses; omit it", len(args)))
	}
	p, err := o.parameters()
	if err != nil {
		return usageError(err)
	}
	for i, arg := range args {
		r := a.reader(runtime.NumCPU())
		r.SaysPrograms = o.format == "text" && o.output == ""
		in, err := r.Read(arg, o.Selection)
		if err != nil {
			return err
		}
		if i > 0 && o.format != "json" {
			a.print("\n")
		}
		if err := a.analyzeOne(in, arg, p, o); err != nil {
			return err
		}
	}
	return nil
}

// parameters returns the parameters of the flags.
func (o *analyzeOptions) parameters() (warmup.Parameters, error) {
	mode, err := classify.ParseMode(o.mode)
	if err != nil {
		return warmup.Parameters{}, fmt.Errorf("--mode: %w", err)
	}
	p := warmup.Default(mode)
	p.Column = o.Column
	set := func(flag, name, value string) {
		if wrong := p.Set(name, value); wrong != nil && err == nil {
			err = fmt.Errorf("--%s: %w", flag, wrong)
		}
	}
	set("steady", "steady", o.steady)
	set("delta", "delta", o.delta)
	for _, rule := range o.rules {
		name, value, _ := strings.Cut(rule, "=")
		set("rule "+name, name, value)
	}
	return p, err
}

// analyzeOne analyzes one input, prints the analysis and stores it.
func (a *app) analyzeOne(in experiment.Input, arg string, p warmup.Parameters, o analyzeOptions) error {
	elsewhere := o.format == "json" && !o.table && o.output != ""
	if elsewhere && !isStdout(o.output) && !durable.IsDescriptor(o.output) {
		in.Analysis = o.output
	}
	r := a.reader(runtime.NumCPU())
	doc, err := r.Analyze(in, p, r.Stored(in.Analysis))
	if err != nil {
		return err
	}
	text, err := doc.Encode()
	if err != nil {
		return err
	}
	err = a.toOutput(o.output, func(w io.Writer) error {
		switch {
		case o.table:
			return a.writeTables(w, in, arg, doc, o.format)
		case o.format == "json":
			_, err := w.Write(text)
			return err
		default:
			width := a.console().Width()
			if o.output != "" {
				width = 0
			}
			report.AnalysisText(w, width, doc)
			report.MachineText(w, compare.LevelsOf(in.Data, doc, report.MachineConfidence,
				report.MachineKeys))
			return nil
		}
	})
	if err != nil || elsewhere || in.Pattern != nil || in.Analysis == "" {
		return err
	}
	const usual = 0o644
	switch err = durable.WriteFile(a.fsys, in.Analysis, text, usual); {
	case err == nil:
		return nil
	case o.format == "json":
		a.talk("krunctl: the analysis was printed but could not be stored: %v", err)
		return nil
	}
	return fmt.Errorf("store the analysis: %w; use --format json -o FILE to write it elsewhere", err)
}

// tables prints the study's tables of each input, of its analysis if there is one.
func (a *app) tables(args []string, o analyzeOptions) error {
	for _, arg := range args {
		in, doc, err := a.reader(runtime.NumCPU()).Analyzed(arg, o.Key, nil)
		if err != nil {
			return err
		}
		err = a.toOutput(o.output, func(w io.Writer) error {
			return a.writeTables(w, in, arg, doc, o.format)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeTables writes the study's tables in a format.
func (a *app) writeTables(w io.Writer, in experiment.Input, arg string, doc *warmup.Document,
	format string) error {
	facts, err := report.FactsOf(a.fsys, in, arg, a.talk)
	if err != nil {
		return err
	}
	f := report.Format(format)
	switch format {
	case "csv":
		return report.ResultCSV(w, doc, facts)
	case "json":
		return report.ResultJSON(w, doc, facts)
	}
	results, shares := report.ResultTable(doc, facts), report.ShareTable(doc)
	if err := results.Write(w, f); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return shares.Write(w, f)
}

// similarity reports how similar the executions of each key are.
func (a *app) similarity(args []string, o analyzeOptions) error {
	if o.format != "text" && o.format != "csv" && o.format != "json" {
		return usageError(fmt.Errorf("--similarity has the formats text, csv and json, not %s", o.format))
	}
	look := func(d *dataset.Dataset) (*similarity.Document, error) {
		return similarity.CompareKeys(d, o.Column, similarity.Options{}, runtime.NumCPU())
	}
	return lookAtEach(a, args, o.Selection, look, printing[*similarity.Document]{
		json: o.format == "json", csv: o.format == "csv", rows: report.SimilarityRows,
		table: func(doc *similarity.Document) { report.SimilarityText(a.stdout, a.console().Width(), doc) },
	}, func(doc *similarity.Document) int {
		return count(doc.Keys, func(k similarity.KeyResult) bool { return k.Averages != nil })
	})
}
