package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/exchange"
	"krund/internal/exchange/krunconfig"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
)

// What --to and --rows name, as far as code asks for it.
const (
	toJSONL, toTrace, toKrun, toParquet, toTOML = "jsonl", "trace", "krun", "parquet", "toml"

	rowsIterations, rowsExecutions, rowsEvents, rowsWide = "iterations", "executions", "events", "wide"
)

type convertOptions struct {
	to, rows, output, key, vm, variant string
	iterations                         string
	columns                            []string
	allOutcomes                        bool

	pattern   *key.Pattern
	from, too int // iterations from to before too
}

func convertCommand(a *app) *cobra.Command {
	var o convertOptions
	c := &cobra.Command{
		Use:   "convert [--to FORMAT] DIR|NAME.toml|FILE",
		Short: "Write measured series, or a configuration of Krun, in another format",
		Args:  arguments(1, 1, "an experiment or a file"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.convert(c, args[0], o)
		},
	}
	f := c.Flags()
	choiceFlag(f, &o.to, "to", "", "format", "csv", toJSONL, toTrace, toKrun, "go", "plain", toParquet,
		toTOML)
	choiceFlag(f, &o.rows, "rows", "", "what a row of csv and jsonl is", rowsIterations, rowsExecutions,
		rowsEvents, rowsWide)
	outputFlag(f, &o.output, "write to this file (or directory) instead of standard output")
	a.keyFlag(c, &o.key)
	f.StringArrayVar(&o.columns, "column", nil,
		"only this counter or column (repeatable); with --rows wide, its values instead of the seconds")
	f.BoolVar(&o.allOutcomes, "all-outcomes", false, "also errors, timeouts and reruns")
	f.StringVar(&o.iterations, "iterations", "",
		"only iterations FROM-TO, counted from 0; FROM- for all from FROM on")
	namesFlags(f, &o.vm, &o.variant)
	return c
}

// convert finds out what the input is, and what of it is wanted.
func (a *app) convert(c *cobra.Command, arg string, o convertOptions) error {
	if o.to == toTOML {
		if err := only(c, "--to toml", "to output"); err != nil {
			return err
		}
		return a.importConfig(c.Context(), arg, o.output)
	}
	var err error
	if o.from, o.too, err = exchange.ParseIterations(o.iterations); err != nil {
		return usageError(err)
	}
	if o.pattern, err = experiment.ParsePattern(o.key); err != nil {
		return err
	}
	rows := o.to == "csv" || o.to == toJSONL
	if r := a.reader(1); rows && !r.IsExperiment(arg) {
		if info, err := os.Stat(arg); err == nil && !info.IsDir() {
			if c.Flags().Changed("rows") && o.rows != rowsWide {
				return usageError(fmt.Errorf("--rows %s is for an experiment, but %s is a file; omit --rows",
					o.rows, arg))
			}
			o.rows = rowsWide
		}
	}
	allowed := map[string]string{"csv": "rows column iterations all-outcomes", toJSONL: "rows column " +
		"iterations all-outcomes", toTrace: "all-outcomes"}[o.to]
	switch {
	case rows && (o.rows == rowsExecutions || o.rows == rowsEvents):
		allowed = "rows all-outcomes"
	case rows && o.rows == rowsWide && o.to == toJSONL:
		return usageError(errors.New("--rows wide is for --to csv"))
	case rows && o.rows == rowsWide && len(o.columns) > 1:
		return usageError(errors.New("--rows wide takes only one --column"))
	case rows && o.rows == rowsWide:
		allowed = "rows column iterations"
	case o.output == "" && (o.to == toKrun || o.to == toParquet):
		return usageError(fmt.Errorf("--to %s needs -o", o.to))
	}
	if err := only(c, strings.TrimSpace("--to "+o.to+" --rows "+o.rows),
		"to output key vm variant "+allowed); err != nil {
		return err
	}
	if o.to == toTrace || rows && a.reader(1).IsExperiment(arg) {
		return a.export(arg, o)
	}
	return a.series(arg, o)
}

// series converts the series of an input.
func (a *app) series(arg string, o convertOptions) error {
	if o.to == toParquet {
		if err := needsDirectory(o.output); err != nil {
			return err
		}
	}
	d, config, err := a.reader(1).Series(arg, experiment.Selection{VM: o.vm, Variant: o.variant})
	if err != nil {
		return err
	}
	if err := experiment.OnlyKeys(d, o.pattern); err != nil {
		return err
	}
	switch o.to {
	case toKrun:
		err = a.toOutput(o.output, func(w io.Writer) error { return exchange.WriteKrunJSON(w, d, config) })
	case "csv":
		x, err := exchange.NewWarmupCSV(d)
		if err != nil {
			return err
		}
		return a.toFiles(o.output, x)
	case "plain":
		return a.toOutput(o.output, func(w io.Writer) error { return exchange.WritePlain(w, d) })
	case "go":
		return a.toOutput(o.output, func(w io.Writer) error { return exchange.WriteGo(w, d) })
	default:
		return exchange.WriteParquetDirectory(a.fsys, d, o.output)
	}
	if err == nil && !isStdout(o.output) {
		a.talk("%s: %s, %s", o.output, display.Count(len(d.Pairs), "key"),
			display.Count(d.Executions(), "process execution"))
	}
	return err
}

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

// importConfig converts a configuration of Krun; output "" is standard output.
func (a *app) importConfig(ctx context.Context, name, output string) error {
	output = cmp.Or(output, "-")
	if in, err := os.Stat(name); err == nil {
		if out, err := os.Stat(output); err == nil && os.SameFile(in, out) {
			return usageError(fmt.Errorf("-o %s is the configuration of Krun; name another file", output))
		}
	}
	if isRegular(output) {
		return usageError(fmt.Errorf("%s exists; name another file, or remove it", output))
	}
	if in, err := os.Stat(name); err == nil && in.IsDir() {
		return usageError(fmt.Errorf("%s is a directory; name a file, the configuration of Krun", name))
	}
	converted, err := krunconfig.ConvertFile(ctx, name, a.host)
	if err != nil {
		return err
	}
	if err := a.toText(output, []byte(converted.TOML)); err != nil {
		return err
	}
	for _, left := range converted.Left {
		a.talk("%s: %s", name, left)
	}
	var mistakes config.Errors
	if isStdout(output) || durable.IsDescriptor(output) { // the experiment has the name of its file
		output = strings.TrimSuffix(filepath.Base(name), ".krun") + ".toml"
	}
	if _, err := config.Parse(output, []byte(converted.TOML), a.host, doctor.Settings()); errors.As(err,
		&mistakes) {
		a.talk("what was converted needs corrections:\n%s", mistakes.Error())
	}
	return nil
}

// convertKrunCommand is the process that importConfig starts.
func convertKrunCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    krunconfig.Command + " NAME HOST",
		Short:  "Convert the configuration of Krun on standard input, with bounded memory (internal)",
		Hidden: true,
		Args:   arguments(2, 2, "a name and a host"),
		RunE: func(_ *cobra.Command, args []string) error {
			return krunconfig.Worker(args[0], args[1], a.stdin, a.stdout)
		},
	}
}
