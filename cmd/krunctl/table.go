package main

import (
	"io"
	"runtime"

	"krund/internal/analysis/warmup"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

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
