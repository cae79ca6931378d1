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

const reportHelp = `Report writes what was measured as pages, or draws it.

Pages are a directory of HTML: what was measured, where and under which controls, a
table of all keys, and for each key plots of its process executions, with the events of
the VM and the kernel below them, and what explains outliers and changepoints (see
krunctl explain). They need no network: open index.html from the disk. A previous report
is replaced when the new one is complete: files that only the previous report has are
removed, and nothing else. files.sha256 lists the files that krunctl has written.

With --format pdf, svg or png, or -o with such an ending, it draws process executions like
the study's figures: values against iterations, above them a strip with a narrower axis,
in them an inset of the first iterations. Outliers are circled (green: other executions
have them, too); changepoints and segment means are dashed, with the means of segments
that are equivalent to the last in black and others in grey. Kernel messages, throttling
and temperatures are marked on the axis of iterations. Below it are the events of the VM
and the kernel, and other columns as in the study's Figures 2 and 6: --column selects
them. The default are those of the VM and the benchmark (gc_time, jit_time); minor_faults
is one of the kernel, cycles one per core. A page has as many executions as fit on A4.
SVG and PNG are one page: they show the first executions.

It reads what krunctl analyze reads, with its analysis if there is one; run analyze
first to choose the options of the analysis. It writes only what -o names: without it,
NAME.report here, or NAME.pdf, .svg or .png.

EXAMPLES
  krunctl report warmup.toml
  krunctl report warmup_results.json.bz2 -o out/
  krunctl report --key 'nbody:CPython:*' -o nbody.pdf warmup.krun
  krunctl report --key 'nbody:CPython:*' --execution 2 -o figure1.svg warmup.krun
  krunctl report --column cycles,user --execution 1 -o figure2.pdf warmup.krun
` + readExitHelp

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
		Long:  reportHelp,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return usageError(fmt.Errorf("report is about one experiment; `krunctl compare --format html %s` "+
					"compares two", display.ShellJoin(args)))
			}
			return arguments(1, 1, "an experiment or a file of results")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if end := strings.TrimPrefix(strings.ToLower(filepath.Ext(o.output)),
				"."); !c.Flags().Changed("format") &&
				slices.Contains([]string{"pdf", "svg", "png"}, end) {
				o.format = end
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
	choiceFlag(f, &o.format, "format", "f", "what to write (default: the ending of -o)", "html", "pdf", "svg",
		"png")
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
