package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment"
	"krund/internal/report"
	"krund/internal/results"
)

const reportHelp = `Report writes a directory of HTML pages about an experiment: what was measured,
where and under which controls, a table of all keys, and for each key plots of
its process executions. It needs no network: open index.html from the disk.

It reads what krunctl analyze reads, and analyses what has not been analysed:
give analyze's options first, and report will use that analysis. It changes
nothing but the directory that it writes. A report that is there already is replaced
when the new one is complete: of the old one, what the new one does not have is
removed, and nothing else. files.sha256 lists what krunctl has written.

EXAMPLES
  krunctl report warmup.toml -o out/
  krunctl report warmup_results.json.bz2 -o out/
` + readExitHelp

func reportCommand(a *app) *cobra.Command {
	var output, keys string
	c := &cobra.Command{
		Use:   "report DIR|NAME.toml|FILE -o FOLDER",
		Short: "Write the results as HTML pages with plots",
		Long:  reportHelp,
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			if output == "" {
				return usageError(errors.New("where to? -o FOLDER"))
			}
			return a.report(args[0], keys, output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "directory of the pages; made if need be")
	a.keyFlag(c, &keys)
	return c
}

// report writes the pages and says where they are.
func (a *app) report(arg, keys, output string) error {
	in, doc, err := a.analysed(arg, keys)
	if err != nil {
		return err
	}
	input, err := a.reportInput(in, doc, arg)
	if err != nil {
		return err
	}
	if err := a.mayWrite(output); err != nil {
		return err
	}
	pages := newPagesDirectory(a.fsys, output)
	size, err := report.Site(pages, input)
	if err == nil {
		err = pages.finish()
	}
	if err != nil {
		return errors.Join(err, pages.sweep())
	}
	a.print("%s\n", filepath.Join(output, "index.html"))
	a.talk("%s, %s", display.Count(size.Files, "file"), sizeText(size.Bytes))
	return nil
}

// generator marks pages of reports, which a new report may replace.
const generator = `<meta name="generator" content="krunctl">`

// mayWrite refuses a directory that has an index.html of somebody else.
func (a *app) mayWrite(dir string) error {
	name := filepath.Join(dir, "index.html")
	text, err := durable.ReadFile(a.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if !strings.Contains(string(text), generator) {
		return fmt.Errorf("%s is not a page of krunctl; name another directory with -o", name)
	}
	return nil
}

// reportInput puts an analysis together with its data and, of experiments of
// krund, with what the records say.
func (a *app) reportInput(in experiment.Input, doc *warmup.Document, arg string) (report.Input, error) {
	input := report.Input{Document: doc, Data: in.Data, Version: display.Version()}
	facts, err := a.facts(in, arg)
	if err != nil || facts == nil {
		return input, err
	}
	return input, a.addFacts(&input, facts, arg)
}

func sizeText(bytes int64) string { return display.Bytes(bytes) }

// analysed reads an experiment or a file of results with its analysis. keys is the text of --key.
func (a *app) analysed(arg, keys string) (experiment.Input, *warmup.Document, error) {
	return a.reader(runtime.NumCPU()).Analyzed(arg, keys)
}

// recordNames are where the records of a key's executions lie, in the order
// the dataset has them.
type recordNames [][]results.Name

// facts reads the records of an experiment of krund for what they say beside
// the series; nil for files of other tools.
func (a *app) facts(in experiment.Input, arg string) (*report.Facts, error) {
	if in.Data.Format != experiment.Format {
		return nil, nil
	}
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return nil, err
	}
	facts := &report.Facts{}
	for rec, err := range f.Reader().All() {
		var damaged *results.FileError
		switch {
		case errors.As(err, &damaged):
			continue // the dataset's problems name it
		case err != nil:
			return nil, fmt.Errorf("%s: %w", f.Dir(), err)
		}
		if rec.Check() == nil && (in.Pattern == nil || in.Pattern.Match(rec.Key)) {
			facts.Add(&rec)
		}
	}
	return facts, nil
}

// addFacts adds the facts, and has the other columns read again when they are
// written: all of them together may not fit into memory.
func (a *app) addFacts(input *report.Input, facts *report.Facts, arg string) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	input.Facts = facts
	reader := f.Reader()
	names := make(recordNames, len(input.Data.Pairs))
	for i, pair := range input.Data.Pairs {
		names[i] = input.Facts.Names(pair.Key)
	}
	input.Columns = func(pair, execution int) ([]dataset.Column, error) {
		if execution >= len(names[pair]) {
			return nil, nil
		}
		rec, err := reader.Load(names[pair][execution])
		if err != nil {
			return nil, err
		}
		e := experiment.Execution(&rec, nil)
		return e.Columns, nil
	}
	return nil
}
