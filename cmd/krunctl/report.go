package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/explain"
	"krund/internal/display"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

type reportOptions struct {
	format, output, key string
	executions          []int
	columns             []string
}

func reportCommand(a *app) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report DIR|NAME.toml|FILE [-o DIRECTORY | -o FILE.pdf]",
		Short: "Write the results as pages with plots, or as a figure",
		Args:  arguments(1, 1, "an experiment or a file of results (`krunctl compare` takes two)"),
		RunE: func(c *cobra.Command, args []string) error {
			end := strings.TrimPrefix(strings.ToLower(filepath.Ext(o.output)), ".")
			if !c.Flags().Changed("format") && slices.Contains([]string{"pdf", "svg", "png"}, end) {
				o.format = end
			}
			if o.format == "html" && slices.Contains([]string{"jpg", "jpeg", "gif", "webp", "eps", "ps",
				"tif", "tiff", "bmp"}, end) {
				return usageError(fmt.Errorf("-o %s: no picture of this kind is written; give .pdf, .svg or "+
					".png", o.output))
			}
			if o.output == "" {
				name := filepath.Base(filepath.Clean(args[0]))
				o.output = strings.TrimSuffix(name, filepath.Ext(name)) + "." +
					strings.ReplaceAll(o.format, "html", "report")
			}
			if o.format != "html" {
				return a.plot(args[0], o)
			}
			if err := needsDirectory(o.output); err != nil {
				return usageError(fmt.Errorf("%w; or give --format pdf, svg or png", err))
			}
			if err := only(c, "pages; add --format pdf, svg or png",
				"format output key"); err != nil {
				return err
			}
			return a.report(args[0], o.key, o.output)
		},
	}
	f := c.Flags()
	choiceFlag(f, &o.format, "format", "f", "what to write (default: the ending of -o, or html)",
		"html", "pdf", "svg", "png")
	f.Lookup("format").DefValue = "" // the text says it
	outputFlag(f, &o.output, "directory of the pages, created if necessary; or the file of a figure")
	a.keyFlag(c, &o.key)
	f.IntSliceVar(&o.executions, "execution", nil, "of a figure: only executions with these numbers")
	f.StringSliceVar(&o.columns, "column", []string{report.UserColumns},
		"of a figure: other columns: names such as cycles, or user for all of the benchmark's own")
	return c
}

// report writes the pages and prints the path of the first.
func (a *app) report(arg, keys, output string) error {
	input, err := a.reportInput(arg, keys)
	if err != nil {
		return err
	}
	if err = input.Compare(); err != nil {
		return err
	}
	if input.Series != nil { // as krunctl explain does; files of other tools have no evidence
		if input.Explanation, err = explain.Explain(input.Data.Info, input.Document, explain.Default(),
			runtime.NumCPU(), input.Series); err != nil {
			return err
		}
	}
	size, err := report.WriteSite(a.fsys, output, input)
	if err != nil {
		return err
	}
	a.print("%s\n", filepath.Join(output, "index.html"))
	a.talk("%s, %s", display.Count(size.Files, "file"), display.Bytes(size.Bytes))
	return nil
}

// reportInput reads an experiment or a file of results with its analysis and, for experiments of
// krund, the facts in their records. keys is the text of --key.
func (a *app) reportInput(arg, keys string) (report.Material, error) {
	in, doc, err := a.reader(runtime.NumCPU()).Analyzed(arg, keys, nil)
	if err != nil {
		return report.Material{}, err
	}
	input := report.Material{Document: doc, Data: in.Data, Version: display.Version()}
	facts, err := report.FactsOf(a.fsys, in, arg, a.talk)
	if err != nil || facts == nil {
		return input, err
	}
	if input.Facts = facts; len(facts.Machines) > 0 {
		return input, nil
	}
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return input, err
	}
	input.AddRecords(facts, f.Reader())
	return input, nil
}

// mostCores is the number of cores of a per-core column that are drawn, the busiest ones.
const mostCores = 8

// plot draws process executions.
func (a *app) plot(arg string, o reportOptions) error {
	format := report.PlotFormat(o.format)
	input, err := a.reportInput(arg, o.key)
	if err != nil {
		return err
	}
	figures, lacks, err := input.Figures(o.executions, o.columns, mostCores)
	if err != nil {
		return err
	}
	if len(lacks) > 0 && len(figures) > 0 {
		err = fmt.Errorf("--column %s: no selected execution has it; `krunctl convert --to csv %s` begins with "+
			"the names of the columns", strings.Join(lacks, ","), display.ShellPath(arg))
		if len(lacks) == len(o.columns) {
			return usageError(err)
		}
		a.talk("krunctl: %v", err)
	}
	if len(figures) == 0 {
		return fmt.Errorf(
			"%s: no selected execution has iterations; `krunctl show` lists keys and executions", arg)
	}
	pages := report.Pages(figures)
	if format != report.PDF && len(pages) > 1 {
		pages = pages[:1]
		a.talk("krunctl: %s shows the first %d of %d executions; select others with --key and --execution, "+
			"or write a PDF",
			o.output, len(pages[0]), len(figures))
	}
	return a.toOutput(o.output, func(w io.Writer) error { return report.WritePlot(w, format, pages) })
}
