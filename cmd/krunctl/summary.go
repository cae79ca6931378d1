package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/analysis/dataset"
	"krund/internal/experiment/key"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

const summaryHelp = `Summary prints a row per key: process executions and their outcomes, and the times
of their iterations.

All times are of the records that count: of each slot the first completed record.
Attempts that ended with an error or at the time limit, and those that were
disturbed and run again (rerun), are counted and otherwise left out. Times of
iterations are over all iterations of all these executions, including warmup; the
analysis shows whether and when a key is warm.

The columns: done is the number of slots with a record that counts, out of those
planned; min to p95 are of the iterations; init is from exec to the runner's first
call, first from exec to the first iteration (medians); process is the median wall
time of the whole process; daemon is the maximum processor time of krund during one
execution, wakes the maximum number of its wake-ups, and kernel the maximum
processor time of the kernel's threads on the benchmark's processors.

It reads what krunctl analyze reads. Files of other tools have only the outcomes
and the times of iterations.

It only reads, and may run while krund does, but it takes processor time from a
machine that measures.

EXAMPLES
  krunctl summary warmup.toml
  krunctl summary --sort median --unit ms warmup.krun
  krunctl summary hyperfine.json
  krunctl summary --key '*:CPython:*' --json warmup.krun
` + readExitHelp

type summaryOptions struct {
	json bool
	sort string
	key  string
	unit string
}

func summaryCommand(a *app) *cobra.Command {
	var o summaryOptions
	c := &cobra.Command{
		Use: "summary DIR|NAME.toml|FILE", Short: "Print executions, outcomes and times of each key",
		Long: summaryHelp, Args: arguments(1, 1, "an experiment or a file of results"),
		RunE: func(_ *cobra.Command, args []string) error { return a.summary(args[0], o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().StringVar(&o.sort, "sort", "schedule", "order of the rows: schedule, key, median, or process")
	a.keyFlag(c, &o.key)
	unitFlag(c.Flags(), &o.unit)
	return c
}

func (a *app) summary(arg string, o summaryOptions) error {
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	less, err := summary.OrderOf(o.sort)
	if err != nil {
		return err
	}
	unit, err := parseUnit(o.unit, dataset.Seconds)
	if err != nil {
		return err
	}
	doc, err := a.summaryOf(arg, pattern)
	if err != nil {
		return err
	}
	if less != nil {
		slices.SortStableFunc(doc.Keys, less)
	}
	if o.json {
		return a.printJSON(doc)
	}
	a.console().Summary(doc.Keys, unit)
	return nil
}

func (a *app) summaryOf(arg string, pattern *key.Pattern) (summary.Document, error) {
	if _, err := a.fsys.Lstat(arg); err == nil && !strings.HasSuffix(arg, ".krun") &&
		!a.reader(1).IsExperiment(arg) {
		return summary.OfFile(a.reader(1), arg, pattern)
	}
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return summary.Document{}, err
	}
	m, err := a.records(f, pattern)
	if err != nil {
		return summary.Document{}, err
	}
	return summary.OfExperiment(f, m, pattern, a.talk)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
