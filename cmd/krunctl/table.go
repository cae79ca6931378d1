package main

import (
	"io"

	"github.com/spf13/cobra"

	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/report"
)

const tableHelp = `Table prints the study's tables of an experiment: for each key the class, when it
reaches the steady state, how fast that is, and thumbnails of the executions; then
how many keys and executions have each class; and the warnings.

It reads what krunctl analyze reads, with its analysis (and its options) if there
is one. LaTeX needs the packages booktabs, longtable and sparklines; HTML is a
fragment of a page; csv and json have all digits of the numbers.

It changes nothing. Data without an analysis are analyzed for the table only: run
krunctl analyze first to do it once.

EXAMPLES
  krunctl table warmup.toml
  krunctl table --format latex -o warmup.tex warmup.krun
  krunctl table --format csv warmup_results.json.bz2
` + readExitHelp

// tableOptions are the flags of table and compare.
type tableOptions struct {
	format, output, key string
}

func (o *tableOptions) flags(a *app, c *cobra.Command) {
	c.Flags().StringVarP(&o.format, "format", "f", "text", "text, markdown, html, latex, csv or json")
	c.Flags().StringVarP(&o.output, "output", "o", "", "write to this file instead of standard output")
	a.keyFlag(c, &o.key)
}

func tableCommand(a *app) *cobra.Command {
	var o tableOptions
	var unit string
	c := &cobra.Command{
		Use:   "table DIR|NAME.toml|FILE",
		Short: "Print classes, steady state and steady performance",
		Long:  tableHelp,
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := report.ParseFormat(o.format)
			if err != nil {
				return usageError(err)
			}
			in, doc, err := a.analyzed(args[0], o.key)
			if err != nil {
				return err
			}
			shown, err := parseUnit(unit, doc.Unit)
			if err != nil {
				return err
			}
			facts, err := a.facts(in, args[0])
			if err != nil {
				return err
			}
			return a.toOutput(o.output,
				func(w io.Writer) error { return writeTables(w, doc, facts, format, shown) })
		},
	}
	o.flags(a, c)
	unitFlag(c.Flags(), &unit)
	return c
}

func writeTables(w io.Writer, doc *warmup.Document, facts *report.Facts, f report.Format,
	unit display.Unit) error {
	switch f {
	case report.CSV:
		return report.ResultCSV(w, doc, facts)
	case report.JSON:
		return report.ResultJSON(w, doc, facts)
	}
	results, shares := report.ResultTable(doc, facts, unit), report.ShareTable(doc)
	if err := results.Write(w, f); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return shares.Write(w, f)
}
