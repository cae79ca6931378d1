package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/key"
	"krund/internal/report"
)

const plotHelp = `Plot draws process executions as the study's figures do: values against
iterations, above them a strip with a narrower axis, in them an inset of the
first iterations; outliers circled (green: other executions have them, too),
changepoints and segment means dashed, means of segments that are equivalent to
the last black, others grey.

The name given with -o says the format: .pdf, .svg or .png. A PDF has --per-page
executions on each page; the other formats have all on one, so choose few.

EXAMPLES
  krunctl plot --key 'fasta:PyPy:*' -o fasta.pdf warmup.krun
  krunctl plot --key 'fasta:PyPy:*' --execution 3 -o figure1.svg warmup.krun
` + exitHelp

type plotOptions struct {
	output     string
	key        string
	executions []int
	perPage    int
}

func plotCommand(a *app) *cobra.Command {
	var o plotOptions
	c := &cobra.Command{
		Use:   "plot DIR|NAME.toml|FILE -o FILE.pdf",
		Short: "Draw run-sequence plots as PDF, SVG or PNG",
		Long:  plotHelp,
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.plot(args[0], o) },
	}
	c.Flags().StringVarP(&o.output, "output", "o", "", "file to write: NAME.pdf, NAME.svg or NAME.png")
	c.Flags().StringVar(&o.key, "key", "", "only keys that match benchmark:vm:variant, each part may be *")
	c.Flags().IntSliceVar(&o.executions, "execution", nil, "only executions with these numbers")
	c.Flags().IntVar(&o.perPage, "per-page", 4, "executions on a page of a PDF")
	return c
}

// mostOnPage is how many figures a picture without pages may have.
const mostOnPage = 30

func (a *app) plot(arg string, o plotOptions) error {
	format := report.PlotFormat(strings.TrimPrefix(strings.ToLower(filepath.Ext(o.output)), "."))
	if !slices.Contains([]report.PlotFormat{report.PDF, report.SVG, report.PNG}, format) {
		return usageError{errors.New("where to? -o NAME.pdf, NAME.svg or NAME.png")}
	}
	if o.perPage < 1 || o.perPage > mostOnPage {
		return usageError{fmt.Errorf("--per-page %d: a number from 1 to %d", o.perPage, mostOnPage)}
	}
	pattern, err := parsePattern(o.key)
	if err != nil {
		return err
	}
	in, doc, err := a.analysed(arg)
	if err != nil {
		return err
	}
	figures := figuresOf(doc, in.data, pattern, o.executions)
	if len(figures) == 0 {
		return fmt.Errorf("%s: no execution with iterations matches --key and --execution", arg)
	}
	pages := slices.Collect(slices.Chunk(figures, o.perPage))
	if format != report.PDF {
		if len(figures) > mostOnPage {
			return fmt.Errorf("%d executions are too many for one picture; choose with --key and --execution, or write a PDF", len(figures))
		}
		pages = [][]report.Figure{figures}
	}
	return a.toOutput(o.output, func(w io.Writer) error { return report.WritePlot(w, format, pages) })
}

func figuresOf(doc *warmup.Document, data *dataset.Dataset, pattern *key.Pattern, numbers []int) []report.Figure {
	var list []report.Figure
	for i := range doc.Pairs {
		p := &doc.Pairs[i]
		if pattern != nil && !pattern.Match(p.ParsedKey()) {
			continue
		}
		for e := range p.Executions {
			x := &p.Executions[e]
			if x.Iterations == 0 || len(numbers) > 0 && !slices.Contains(numbers, x.Number) {
				continue
			}
			class := string(x.Classification)
			if x.Status != warmup.Analysed {
				class = string(x.Status)
			}
			list = append(list, report.Figure{
				Title: fmt.Sprintf("%s, execution %d: %s", p.Key, x.Number, class), Axis: report.AxisName(doc),
				Run: report.NewRun(report.Values(&data.Pairs[i].Executions[e], doc.Parameters.Column), x),
			})
		}
	}
	return list
}
