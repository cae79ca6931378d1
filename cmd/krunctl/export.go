package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

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

// toOutput calls write with the file that -o names, or with standard output.
func (a *app) toOutput(file string, write func(io.Writer) error) error {
	if file == "" || isStdout(file) {
		return write(a.stdout)
	}
	return durable.WriteUserFile(file, write)
}

// canWrite returns the error that toOutput would give, before the work is done that it is for. It
// changes nothing.
func canWrite(file string) error {
	info, err := os.Stat(file)
	if file == "" || isStdout(file) || durable.IsDescriptor(file) ||
		err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	tried := errors.New("nothing to write yet")
	if err := durable.WriteUserFile(file, func(io.Writer) error { return tried }); !errors.Is(err, tried) {
		return err
	}
	return nil
}

// toText writes a text to the file that -o names, or to standard output.
func (a *app) toText(file string, text []byte) error {
	return a.toOutput(file, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// isStdout reports whether -o names standard output. A command then prints nothing else there.
func isStdout(output string) bool {
	return slices.Contains([]string{"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}, output)
}

// needsDirectory returns an error if -o names standard output or another open file.
func needsDirectory(output string) error {
	if isStdout(output) || durable.IsDescriptor(output) {
		return usageError(fmt.Errorf("%s: the output is a directory with several files; name one", output))
	}
	return nil
}
