package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/report"
)

const plotHelp = `Plot draws process executions like the study's figures: values against iterations,
above them a strip with a narrower axis, in them an inset of the first iterations.
Outliers are circled (green: other executions have them, too); changepoints and
segment means are dashed, with the means of segments that are equivalent to the
last in black and others in grey. Kernel messages, throttling and temperatures are
marked on the axis of iterations.

Below it, on the same axis, are the events of the VM and the kernel, and other
columns as in the study's Figures 2 and 6: --columns selects them. The default are
those of the VM and the benchmark (gc_time, jit_time); minor_faults is one of the
kernel, cycles one per core.

The name given with -o determines the format: .pdf, .svg or .png; --format does for
other names, such as - for standard output. A page has as many executions as fit on
A4, or --per-page. SVG and PNG are one page: they show the first executions, and a
message names how many were left out.

It reads what krunctl analyze reads, with its analysis if there is one, and writes
only the file named by -o.

EXAMPLES
  krunctl plot --key 'nbody:CPython:*' -o nbody.pdf warmup.krun
  krunctl plot --key 'nbody:CPython:*' --execution 2 -o figure1.svg warmup.krun
  krunctl plot --columns cycles,user --per-page 1 -o figure2.pdf warmup.krun
` + readExitHelp

type plotOptions struct {
	output     string
	key        string
	executions []int
	columns    []string
	cores      int
	perPage    int
	unit       string
	format     string
}

func plotCommand(a *app) *cobra.Command {
	var o plotOptions
	c := &cobra.Command{
		Use: "plot DIR|NAME.toml|FILE -o FILE.pdf", Short: "Draw run-sequence plots as PDF, SVG or PNG",
		Long: plotHelp, Args: arguments(1, 1, "an experiment or a file of results"),
		RunE: func(_ *cobra.Command, args []string) error { return a.plot(args[0], o) },
	}
	c.Flags().StringVarP(&o.output, "output", "o", "", "file to write: NAME.pdf, NAME.svg or NAME.png")
	c.Flags().StringVarP(&o.format, "format", "f", "",
		"pdf, svg or png (default: the ending of the file's name)")
	a.keyFlag(c, &o.key)
	c.Flags().IntSliceVar(&o.executions, "execution", nil, "only executions with these numbers")
	c.Flags().StringSliceVar(&o.columns, "columns", []string{report.UserColumns},
		"other columns to draw: names such as cycles, or user for all of the benchmark's own")
	c.Flags().IntVar(&o.cores, "cores", 8, "number of cores to draw of a per-core column, the busiest ones")
	c.Flags().IntVar(&o.perPage, "per-page", 0,
		"executions on a page of a PDF, or in a picture; 0: as many as fit on A4")
	unitFlag(c.Flags(), &o.unit)
	return c
}

// mostOnPage is the maximum number of figures on a page.
const mostOnPage = 30

func (a *app) plot(arg string, o plotOptions) error {
	format := report.PlotFormat(cmp.Or(o.format,
		strings.TrimPrefix(strings.ToLower(filepath.Ext(o.output)), ".")))
	if o.output == "" || !slices.Contains([]report.PlotFormat{report.PDF, report.SVG, report.PNG}, format) {
		return usageError(errors.New(
			"name the output: -o NAME.pdf, NAME.svg or NAME.png, or give --format pdf, svg or png"))
	}
	if o.cores < 1 {
		return usageError(fmt.Errorf("--cores must be positive, not %d", o.cores))
	}
	if o.perPage < 0 || o.perPage > mostOnPage {
		return usageError(fmt.Errorf("--per-page %d: must be from 0 to %d", o.perPage, mostOnPage))
	}
	figures, err := a.figures(arg, o)
	if err != nil {
		return err
	}
	if len(figures) == 0 {
		return fmt.Errorf(
			"%s: no selected execution has iterations; `krunctl table` lists keys and executions", arg)
	}
	pages := report.Pages(figures, o.perPage)
	if format != report.PDF && len(pages) > 1 {
		pages = pages[:1]
		a.talk("krunctl: %s shows the first %d of %d executions; select others with --key and --execution, "+
			"draw more with --per-page, or write a PDF",
			o.output, len(pages[0]), len(figures))
	}
	return a.toOutput(o.output, func(w io.Writer) error { return report.WritePlot(w, format, pages) })
}

// figures prepares the selected executions.
func (a *app) figures(arg string, o plotOptions) ([]report.Drawing, error) {
	in, doc, err := a.analyzed(arg, o.key)
	if err != nil {
		return nil, err
	}
	input, err := a.reportInput(in, doc, arg, o.unit)
	if err != nil {
		return nil, err
	}
	var list []report.Drawing
	for i := range doc.Pairs {
		for e := range doc.Pairs[i].Executions {
			if len(o.executions) > 0 && !slices.Contains(o.executions, doc.Pairs[i].Executions[e].Number) {
				continue
			}
			f, ok, err := input.Figure(i, e, o.columns, o.cores)
			if err != nil {
				return nil, err
			}
			if ok {
				list = append(list, f)
			}
		}
	}
	return list, nil
}
