package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"krund/internal/display"
	"krund/internal/report"
)

// mostCores is the number of cores of a per-core column that are drawn, the busiest ones.
const mostCores = 8

// plot draws process executions.
func (a *app) plot(arg string, o reportOptions) error {
	format := report.PlotFormat(o.format)
	figures, err := a.figures(arg, o)
	if err != nil {
		return err
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

// figures prepares the selected executions.
func (a *app) figures(arg string, o reportOptions) ([]report.Drawing, error) {
	in, doc, err := a.analyzed(arg, o.key)
	if err != nil {
		return nil, err
	}
	input, err := a.reportInput(in, doc, arg)
	if err != nil {
		return nil, err
	}
	var list []report.Drawing
	drawn := map[string]bool{report.UserColumns: true, "": true}
	for i := range doc.Pairs {
		for e := range doc.Pairs[i].Executions {
			if len(o.executions) > 0 && !slices.Contains(o.executions, doc.Pairs[i].Executions[e].Number) {
				continue
			}
			f, ok, err := input.Figure(i, e, o.columns, mostCores)
			if err != nil {
				return nil, err
			}
			if ok {
				for _, p := range f.Run.Panels {
					drawn[p.Title] = true
				}
				list = append(list, f)
			}
		}
	}
	lacks := slices.DeleteFunc(slices.Clone(o.columns), func(name string) bool { return drawn[name] })
	if len(lacks) == 0 || len(list) == 0 {
		return list, nil
	}
	err = fmt.Errorf("--column %s: no selected execution has it; `krunctl convert --to csv %s` begins with the "+
		"names of the columns", strings.Join(lacks, ","), display.ShellPath(arg))
	if len(lacks) == len(o.columns) {
		return nil, usageError(err)
	}
	a.talk("krunctl: %v", err)
	return list, nil
}
