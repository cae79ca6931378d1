package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"krund/internal/analysis/bootstrap"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

const startupHelp = `Startup prints how long each VM takes to start, like Table 3 of the warmup study:
the mean time from exec to the begin of the first in-process iteration, with a
bootstrap confidence interval (99%), over all process executions that count. It
needs no special runs: every record has the time stamps.

The columns: executions is the number of executions with time stamps; runner is the
time from exec to the runner's first call of libkrun (the VM is up and runs the
runner's code); first is the time from exec to the first iteration (the benchmark
is loaded, too). The interval is that of the mean: it gets narrower with more
executions. A single execution has none.

A VM's row combines all its benchmarks. The study used one benchmark that does
nothing; do the same to measure the VM alone, or select a benchmark with --key, or
print a row for each key with --by key.

The interval is computed by resampling with random numbers seeded by --seed: the
same records and seed give the same output.

It only reads, and may run while krund does, but it takes processor time from a
machine that measures.

EXAMPLES
  krunctl startup warmup.toml
  krunctl startup --by key --key 'nbody:*:*' warmup.krun
  krunctl startup --json --seed 7 warmup.krun
` + readExitHelp

type startupOptions struct {
	json       bool
	by         string
	key        string
	seed       uint64
	resamples  int
	confidence float64
}

func startupCommand(a *app) *cobra.Command {
	var o startupOptions
	c := &cobra.Command{
		Use: "startup DIR|NAME.toml", Short: "Print how long each VM takes to start", Long: startupHelp,
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(_ *cobra.Command, args []string) error { return a.startup(args[0], o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().StringVar(&o.by, "by", string(summary.ByVM), "print a row for each vm or key")
	a.keyFlag(c, &o.key)
	c.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the random numbers")
	c.Flags().IntVar(&o.resamples, "resamples", bootstrap.DefaultResamples, "bootstrap resamples")
	c.Flags().Float64Var(&o.confidence, "confidence", bootstrap.DefaultConfidence,
		"confidence level of the interval, between 0 and 1")
	return c
}

// Format of the JSON of startup. See docs/output.md.
const startupFormat = 1

type startupJSON struct {
	Format     int                  `json:"format"`
	Experiment string               `json:"experiment"`
	Directory  string               `json:"folder"`
	By         string               `json:"by"`
	Confidence float64              `json:"confidence"`
	Resamples  int                  `json:"resamples"`
	Seed       uint64               `json:"seed"`
	Damaged    int                  `json:"damaged_records"`
	Rows       []summary.StartupRow `json:"rows"`
}

func (a *app) startup(arg string, o startupOptions) error {
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	by := summary.By(o.by)
	switch {
	case by != summary.ByVM && by != summary.ByKey:
		return usageError(fmt.Errorf("--by must be vm or key, not %q", o.by))
	case o.resamples < 1:
		return usageError(fmt.Errorf("--resamples must be positive, not %d", o.resamples))
	case !(o.confidence > 0 && o.confidence < 1):
		return usageError(
			fmt.Errorf("--confidence must be between 0 and 1, such as 0.99, not %v", o.confidence))
	}
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	m, err := a.records(f, pattern)
	if err != nil {
		return err
	}
	doc := startupJSON{
		Format: startupFormat, Directory: f.Dir(), By: o.by, Confidence: o.confidence,
		Resamples: o.resamples, Seed: o.seed, Rows: []summary.StartupRow{},
	}
	c := summary.NewStartup(by)
	for rec := range m.All() {
		doc.Experiment = rec.Experiment
		if rec.Counts {
			c.Add(rec.Record)
		}
	}
	rows, err := c.Rows(
		summary.StartupOptions{Resamples: o.resamples, Confidence: o.confidence, Seed: o.seed})
	if err != nil {
		return err
	}
	doc.Damaged = m.Damaged
	if o.json {
		doc.Rows = append(doc.Rows, rows...)
		return a.printJSON(doc)
	}
	if len(rows) == 0 {
		return errors.New("no record counts yet; `krunctl status` shows how far the experiment is")
	}
	a.console().Startup(o.by, o.confidence, rows)
	return nil
}
