package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/experiment"
	"krund/internal/summary"
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

It only reads, and may run while krund does, but it takes processor time from a
machine that measures.

EXAMPLES
  krunctl summary warmup.toml
  krunctl summary --sort median warmup.krun
  krunctl summary --key '*:CPython:*' --json warmup.krun
` + readExitHelp

type summaryOptions struct {
	json bool
	sort string
	key  string
}

func summaryCommand(a *app) *cobra.Command {
	var o summaryOptions
	c := &cobra.Command{
		Use: "summary DIR|NAME.toml", Short: "Print executions, outcomes and times of each key",
		Long: summaryHelp, Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(_ *cobra.Command, args []string) error { return a.summary(args[0], o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().StringVar(&o.sort, "sort", "schedule", "order of the rows: schedule, key, median, or process")
	a.keyFlag(c, &o.key)
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
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	var c summary.Collector
	s, err := f.OpenSchedule()
	if err != nil {
		a.talk("krunctl: the number of planned executions is unknown: %v", err)
	} else {
		sum, err := s.Summarize()
		if err = firstOf(err, s.Close()); err != nil {
			return fmt.Errorf("read the schedule: %w", err)
		}
		for _, k := range sum.Keys {
			if pattern == nil || pattern.Match(k.Key) {
				c.Plan(k.Key, k.Total())
			}
		}
	}
	m, err := a.records(f, pattern)
	if err != nil {
		return err
	}
	doc := summaryJSON{Format: summaryFormat, Directory: f.Dir(), Hosts: []string{}, Keys: []summary.Row{}}
	for rec := range m.All() {
		doc.Experiment = rec.Experiment
		if !slices.Contains(doc.Hosts, rec.Host) {
			doc.Hosts = append(doc.Hosts, rec.Host)
		}
		c.Add(rec.Record, rec.Counts)
	}
	rows := c.Rows()
	if less != nil {
		slices.SortStableFunc(rows, less)
	}
	doc.Damaged = m.Damaged
	if o.json {
		doc.Keys = append(doc.Keys, rows...)
		return a.printJSON(doc)
	}
	a.printSummary(rows)
	return nil
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

func (a *app) printSummary(rows []summary.Row) {
	columns := []string{
		"key", ">done", ">error", ">timeout", ">rerun", ">iterations", ">min", ">median", ">mean", ">p95",
		">init", ">first", ">process", ">daemon", ">wakes", ">kernel",
	}
	table := make([][]string, 0, len(rows))
	for _, r := range rows {
		iterations := strconv.Itoa(r.IterationsLow)
		if r.IterationsLow != r.IterationsHigh {
			iterations += "-" + strconv.Itoa(r.IterationsHigh)
		}
		cells := []string{
			r.Key.String(), fmt.Sprintf("%d/%d", r.Executions, r.Planned), strconv.Itoa(r.Outcomes.Error),
			strconv.Itoa(r.Outcomes.Timeout), strconv.Itoa(r.Outcomes.Rerun), iterations,
		}
		if r.Wall == nil {
			cells = append(cells, "-", "-", "-", "-")
		} else {
			cells = append(cells, display.Nanoseconds(r.Wall.Min), display.Nanoseconds(r.Wall.Median),
				display.Nanoseconds(r.Wall.Mean), display.Nanoseconds(r.Wall.P95))
		}
		cells = append(cells, median(r.Init), median(r.First), median(r.Process))
		wakes := "-"
		if r.WakeUps != nil {
			wakes = strconv.FormatInt(*r.WakeUps, 10)
		}
		table = append(table, append(cells, orUnknown(r.DaemonCPU), wakes, orUnknown(r.KernelCPU)))
	}
	display.Table(a.stdout, columns, table)
}

func median(s *summary.Spread) string {
	if s == nil {
		return "-"
	}
	return display.Nanoseconds(s.Median)
}

// orUnknown formats nanoseconds; "-" for nil.
func orUnknown(ns *int64) string {
	if ns == nil {
		return "-"
	}
	return display.Nanoseconds(float64(*ns))
}
