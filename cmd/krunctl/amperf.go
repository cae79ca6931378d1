package main

import (
	"github.com/spf13/cobra"

	"krund/internal/experiment"
	"krund/internal/summary"
	"krund/internal/verdict"
)

const amperfHelp = `Amperf looks through the processor's counters of a whole experiment for cores
that did not run at their base frequency: APERF/MPERF below 1 says that a core
was throttled, or saved power; above 1 that turbo was on (section 7 of the warmup
study). It prints a row for each key, and the records that leave the limits.

A core is looked at in iterations in which it was busy: from so many APERF per
second on. The ratio of an idle core means nothing. The limits are those of the
experiment's [verdict] section; --tolerance and --threshold try others, and
change nothing that krund has decided.

All records with APERF and MPERF are judged, also those that do not count. The
columns: judged is how many records have them, of how many; violating how many
of these leave the limits; throttled and turbo count iterations, of all; lowest
and highest are the worst ratios of busy cores.

CALIBRATION
With --idle and --busy amperf suggests both limits instead, from two runs on this
kind of machine: one of a benchmark that sleeps in each iteration, so that all
cores are idle; one that keeps all cores busy at a fixed frequency. Each is a slot
(17, or with the attempt 17-1) or a key, which may have * as parts. Copy what is
printed into the configuration of the next experiment.

It only reads, and may be used while krund runs; but looking costs a machine that
measures processor time.

EXAMPLES
  krunctl amperf warmup.toml
  krunctl amperf --tolerance 0.01 --key '*:C:*' warmup.krun
  krunctl amperf --idle 'sleep:C:*' --busy 'spin:C:*' calibration.krun

EXIT STATUS
  0  all is well
  1  a busy core left the limits, there is nothing to judge, or no limits can be
     suggested
  2  wrong usage, or a mistake in the configuration
  3  done, but without damaged records; standard error names them`

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
		Short: "Look for throttled cores and for turbo, or suggest limits",
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
	c.Flags().Float64Var(&o.tolerance, "tolerance", -1, "of APERF/MPERF around 1; below 0: that of the experiment")
	c.Flags().Float64Var(&o.threshold, "threshold", -1, "APERF per second from which a core is busy; 0: derived, below 0: that of the experiment")
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
		a.printAmperf(doc)
	}
	if err == nil && len(doc.Violating) > 0 {
		return errFound
	}
	return firstOf(err, doc.Err())
}

// limits are those of the experiment, where the options do not say others.
func (a *app) limits(f experiment.Experiment, host string, o amperfOptions) verdict.CounterLimits {
	limits := verdict.CounterLimits{Tolerance: verdict.DefaultTolerance}
	if cfg, err := f.Config(host); err == nil {
		limits = verdict.CounterLimits{Tolerance: cfg.Verdict.RatioTolerance, BusyThreshold: cfg.Verdict.BusyThreshold}
	} else if o.tolerance < 0 || o.threshold < 0 {
		a.talk("krunctl: the experiment's limits are unknown, the study's are used: %s", summary.FirstProblem(err))
	}
	if o.tolerance >= 0 {
		limits.Tolerance = o.tolerance
	}
	if o.threshold >= 0 {
		limits.BusyThreshold = o.threshold
	}
	return limits
}
