package main

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/compare"
	"krund/internal/analysis/explain"
	"krund/internal/analysis/warmup"
	"krund/internal/display"
	"krund/internal/reading/experiment"
	"krund/internal/report"
)

const reportHelp = `Report writes a directory of HTML pages about an experiment: what was measured,
where and under which controls, a table of all keys, and for each key plots of its
process executions, with the events of the VM and the kernel below them, and what
explains outliers and changepoints (see krunctl explain). It needs no network: open
index.html from the disk.

It reads what krunctl analyze reads, with its analysis if there is one; run analyze
first to choose the options of the analysis. It writes only its directory,
NAME.report or -o. A previous report is replaced when the new one is complete: files that only the
previous report has are removed, and nothing else. files.sha256 lists the files
that krunctl has written.

EXAMPLES
  krunctl report warmup.toml
  krunctl report warmup_results.json.bz2 -o out/
` + readExitHelp

func reportCommand(a *app) *cobra.Command {
	var output, keys, unit string
	c := &cobra.Command{
		Use:   "report DIR|NAME.toml|FILE",
		Short: "Write the results as HTML pages with plots",
		Long:  reportHelp,
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			if output == "" {
				name := filepath.Base(filepath.Clean(args[0]))
				output = strings.TrimSuffix(name, filepath.Ext(name)) + ".report"
			}
			if err := needsDirectory(output); err != nil {
				return err
			}
			return a.report(args[0], keys, unit, output)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "",
		"directory of the pages, created if necessary (default: NAME.report here)")
	a.keyFlag(c, &keys)
	unitFlag(c.Flags(), &unit)
	return c
}

// report writes the pages and prints the path of the first.
func (a *app) report(arg, keys, unit, output string) error {
	in, doc, err := a.analyzed(arg, keys)
	if err != nil {
		return err
	}
	input, err := a.reportInput(in, doc, arg, unit)
	if err != nil {
		return err
	}
	if input.Comparisons, err = a.comparisons(in, doc, input.Facts); err != nil {
		return err
	}
	if input.Explanation, err = explained(&input); err != nil {
		return err
	}
	size, err := report.WriteSite(a.fsys, output, input)
	if err != nil {
		return err
	}
	a.print("%s\n", filepath.Join(output, "index.html"))
	a.talk("%s, %s", display.Count(size.Files, "file"), display.Bytes(size.Bytes))
	return nil
}

// explained explains the keys of an experiment of krund as krunctl explain does. The result is nil
// for files of other tools, which have no evidence.
func explained(input *report.Input) (*explain.Document, error) {
	if input.Series == nil {
		return nil, nil
	}
	return explain.Explain(input.Data.Info, input.Document, explain.Default(), runtime.NumCPU(), input.Series)
}

// comparisons compares the arms of an experiment with its first one. A null arm is compared only if
// there is no other one.
func (a *app) comparisons(in experiment.Input, doc *warmup.Document,
	facts *report.Facts) ([]*compare.Result, error) {
	var list []*compare.Result
	for _, arm := range report.ComparedArms(in.Data) {
		o := compareOptions{arms: in.Data.Arms[0].Name + "," + arm}
		sides, of, err := o.sides([]compare.Side{{Doc: doc, Data: in.Data}}, []*report.Facts{facts})
		if err != nil {
			a.talk("krunctl: the arms are not compared: %v", err)
			continue
		}
		r, err := compare.Of(sides[0], sides[1], o.Options)
		if err != nil {
			return nil, err
		}
		report.Weaken(r, sides[0], sides[1], of[0], of[1])
		list = append(list, r)
	}
	return list, nil
}

// reportInput combines an analysis with its data and, for experiments of krund, with the records.
// unit is the text of --unit.
func (a *app) reportInput(in experiment.Input, doc *warmup.Document, arg, unit string) (report.Input, error) {
	input := report.Input{Document: doc, Data: in.Data, Version: display.Version()}
	var err error
	if input.Unit, err = parseUnit(unit, doc.Unit); err != nil {
		return input, err
	}
	facts, err := a.facts(in, arg)
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

// facts reads the facts in the records of an experiment; nil for files of other tools.
func (a *app) facts(in experiment.Input, arg string) (*report.Facts, error) {
	return report.FactsOf(a.fsys, in, arg, a.talk)
}

// analyzed reads an experiment or a file of results with its analysis. keys is the text of --key.
func (a *app) analyzed(arg, keys string) (experiment.Input, *warmup.Document, error) {
	return a.reader(runtime.NumCPU()).Analyzed(arg, keys, nil)
}
