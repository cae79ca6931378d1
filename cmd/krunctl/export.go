package main

import (
	"io"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
)

// export writes the records of an experiment as rows or as a trace.
func (a *app) export(arg string, o convertOptions) error {
	_, m, err := a.opened(arg, o.key)
	if err != nil {
		return err
	}
	records := m.Counting()
	if o.allOutcomes {
		records = m.Whole()
	}
	options := exchange.ExportOptions{
		Outcome: o.allOutcomes, Columns: o.columns, From: o.from, To: o.too, JSON: o.to == toJSONL,
	}
	switch {
	case o.to == toTrace:
		return a.toOutput(o.output, func(w io.Writer) error { return exchange.WriteTrace(w, records) })
	case o.rows == rowsEvents:
		return a.toOutput(o.output, exchange.NewEventsExport(records, options).Write)
	case o.rows == rowsExecutions:
		return a.toOutput(o.output, exchange.NewExecutionsExport(records, options).Write)
	case o.rows == rowsWide:
		x, err := exchange.NewWideExport(records, options)
		if err != nil {
			return err
		}
		return a.toFiles(o.output, x)
	}
	x, err := exchange.NewLongExport(records, options)
	if err != nil {
		return err
	}
	return a.toOutput(o.output, x.Write)
}

// toFiles writes the files of warmup_stats: one for each VM and variant into the directory that -o
// names, or the only one.
func (a *app) toFiles(output string, x *exchange.WarmupCSV) error {
	if durable.NamesDirectory(output) {
		return x.WriteDirectory(a.fsys, output, func(file string, rows int) {
			a.talk("%s: %s", file, display.Count(rows, "process execution"))
		})
	}
	return a.toOutput(output, x.Write)
}
