package main

import (
	"cmp"
	"fmt"
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

// Format of the JSON of summary. See docs/output.md.
const summaryFormat = 1

type summaryJSON struct {
	Format     int           `json:"format"`
	Experiment string        `json:"experiment"`
	Directory  string        `json:"folder"`
	Hosts      []string      `json:"hosts"`
	Damaged    int           `json:"damaged_records"`
	Keys       []summary.Row `json:"keys"`
}

func (a *app) summary(arg string, o summaryOptions) error {
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	less, err := sortOf(o.sort)
	if err != nil {
		return err
	}
	unit, err := parseUnit(o.unit, dataset.Seconds)
	if err != nil {
		return err
	}
	summarize := a.summaryOf
	if _, err := a.fsys.Lstat(arg); err == nil && !strings.HasSuffix(arg, ".krun") &&
		!a.reader(1).IsExperiment(arg) {
		summarize = a.summaryOfFile
	}
	doc, err := summarize(arg, pattern)
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

// summaryOfFile summarizes a file of results.
func (a *app) summaryOfFile(arg string, pattern *key.Pattern) (summaryJSON, error) {
	in, err := a.reader(1).Read(arg, experiment.Options{Column: dataset.Wall})
	if err != nil {
		return summaryJSON{}, err
	}
	if err := experiment.OnlyKeys(in.Data, pattern); err != nil {
		return summaryJSON{}, err
	}
	doc := summaryJSON{Format: summaryFormat, Experiment: in.Data.Experiment, Directory: arg,
		Hosts: []string{}, Keys: append([]summary.Row{}, summary.RowsOf(in.Data)...)}
	if in.Data.Machine != "" {
		doc.Hosts = append(doc.Hosts, in.Data.Machine)
	}
	return doc, nil
}

// summaryOf summarizes an experiment.
func (a *app) summaryOf(arg string, pattern *key.Pattern) (summaryJSON, error) {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return summaryJSON{}, err
	}
	var c summary.Collector
	s, err := f.OpenSchedule()
	if err != nil {
		a.talk("krunctl: the number of planned executions is unknown: %v", err)
	} else {
		sum, err := s.Summarize()
		if err = firstOf(err, s.Close()); err != nil {
			return summaryJSON{}, fmt.Errorf("read the schedule: %w", err)
		}
		for _, k := range sum.Keys {
			if pattern == nil || pattern.Match(k.Key) {
				c.Plan(k.Key, k.Total())
			}
		}
	}
	m, err := a.records(f, pattern)
	if err != nil {
		return summaryJSON{}, err
	}
	doc := summaryJSON{Format: summaryFormat, Directory: f.Dir(), Hosts: []string{}, Keys: []summary.Row{}}
	for rec := range m.All() {
		doc.Experiment = rec.Experiment
		if !slices.Contains(doc.Hosts, rec.Host) {
			doc.Hosts = append(doc.Hosts, rec.Host)
		}
		c.Add(rec.Record, rec.Counts)
	}
	doc.Keys, doc.Damaged = append(doc.Keys, c.Rows()...), m.Damaged
	return doc, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sortOf returns the comparison that --sort names; nil for the schedule's order. Keys without times
// come last.
func sortOf(name string) (func(a, b summary.Row) int, error) {
	by := func(of func(summary.Row) *summary.Spread) func(a, b summary.Row) int {
		return func(a, b summary.Row) int {
			x, y := of(a), of(b)
			switch {
			case x == nil && y == nil:
				return 0
			case x == nil:
				return 1
			case y == nil:
				return -1
			}
			return cmp.Compare(x.Median, y.Median)
		}
	}
	switch name {
	case "schedule":
		return nil, nil //nolint:nilnil // nothing to sort, and no mistake
	case "key":
		return func(a, b summary.Row) int { return strings.Compare(a.Key.String(), b.Key.String()) }, nil
	case "median":
		return by(func(r summary.Row) *summary.Spread { return r.Wall }), nil
	case "process":
		return by(func(r summary.Row) *summary.Spread { return r.Process }), nil
	}
	return nil, usageError(fmt.Errorf("--sort must be schedule, key, median or process, not %q", name))
}
