package main

import (
	"fmt"
	"io"
	"strings"

	"krund/internal/display"
	"krund/internal/report"
)

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
