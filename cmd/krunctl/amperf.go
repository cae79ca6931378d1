package main

import (
	"github.com/spf13/cobra"

	"krund/internal/execution/verdict"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

const amperfHelp = `Amperf checks the processor counters of a whole experiment for cores that did
not run at the frequency that was set. Each record has the APERF/MPERF that its
cores should have shown: the frequency over the rate at which MPERF counts.
A lower ratio means that a core was throttled or saved power, a higher one that
turbo was on (section 7 of the warmup study). Records of older versions have no
expected ratio; there it is 1, as in their verdict. Amperf prints a row for each
key, and the records that violate the limits.

A core is checked in the iterations in which it was busy: in which its APERF per
second reached a threshold. The ratio of an idle core means nothing. The limits
are those of the experiment's [verdict] section. --tolerance and --threshold try
others; they do not change what krund has decided.

All records with APERF and MPERF are judged, including those that do not count.
The columns: judged is the number of records with both counters, out of all;
violating is how many of these violate the limits; throttled and turbo count
iterations; lowest and highest are the extreme ratios of busy cores, relative to
the expected ones.

CALIBRATION
With --idle and --busy amperf suggests both limits instead, from two runs on this
kind of machine: a benchmark that sleeps in each iteration, so that all cores are
idle, and one that keeps all cores busy at a fixed frequency. Each is a slot (17,
or with the attempt 17-1) or a key, which may have * as parts. Copy the output
into the configuration of the next experiment.

It only reads, and may run while krund does, but it takes processor time from a
machine that measures.

EXAMPLES
  krunctl amperf warmup.toml
  krunctl amperf --tolerance 0.01 --key '*:C:*' warmup.krun
  krunctl amperf --idle 'sleep:C:*' --busy 'spin:C:*' calibration.krun

EXIT STATUS
  0  success
  1  a busy core violated the limits, there is nothing to judge, or no limits can
     be suggested
  2  wrong usage, or a mistake in the configuration
  3  success, but damaged records were left out; standard error names them`

type amperfOptions struct {
	json       bool
	key        string
	tolerance  float64
	threshold  float64
	idle, busy string
}

func amperfCommand(a *app) *cobra.Command {
	var o amperfOptions
	c := &cobra.Command{
		Use:   "amperf DIR|NAME.toml",
		Short: "Check for throttled cores and for turbo, or suggest limits",
		Long:  amperfHelp,
		Args:  arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.idle != "" || o.busy != "" {
				return a.calibrate(args[0], o)
			}
			return a.amperf(args[0], o)
		},
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	a.keyFlag(c, &o.key)
	c.Flags().Float64Var(&o.tolerance, "tolerance", -1,
		"tolerance of APERF/MPERF around the expected ratio; negative: that of the experiment")
	c.Flags().Float64Var(&o.threshold, "threshold", -1,
		"APERF per second of a busy core, at least; 0: derived; negative: that of the experiment")
	c.Flags().StringVar(&o.idle, "idle", "", "slot or key of the idle calibration run")
	c.Flags().StringVar(&o.busy, "busy", "", "slot or key of the busy calibration run")
	return c
}

func (a *app) amperf(arg string, o amperfOptions) error {
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	m, err := a.records(f, pattern)
	if err != nil {
		return err
	}
	doc := summary.NewCounters(f.Dir())
	limits, known := verdict.CounterLimits{}, false
	for rec := range m.Whole() {
		if !known {
			limits, known = a.limits(f, rec.Host, o), true
		}
		doc.Add(rec, limits)
	}
	doc.Tolerance, doc.Threshold, doc.Damaged = limits.Tolerance, limits.BusyThreshold, m.Damaged
	if o.json {
		err = a.printJSON(doc)
	} else {
		a.console().Counters(doc)
	}
	if err == nil && len(doc.Violating) > 0 {
		return errFound
	}
	return firstOf(err, doc.Err())
}

// limits returns the limits of the options, or else of the experiment.
func (a *app) limits(f experiment.Experiment, host string, o amperfOptions) verdict.CounterLimits {
	limits := verdict.CounterLimits{Tolerance: verdict.DefaultTolerance}
	if cfg, err := f.Config(host); err == nil {
		limits = verdict.CounterLimits{
			Tolerance:     cfg.Verdict.RatioTolerance,
			BusyThreshold: cfg.Verdict.BusyThreshold,
		}
	} else if o.tolerance < 0 || o.threshold < 0 {
		a.talk("krunctl: the experiment's limits are unknown; using the study's limits: %s",
			summary.FirstProblem(err))
	}
	if o.tolerance >= 0 {
		limits.Tolerance = o.tolerance
	}
	if o.threshold >= 0 {
		limits.BusyThreshold = o.threshold
	}
	return limits
}
