package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"krund/internal/directory"
	"krund/internal/key"
	"krund/internal/results"
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

// Format of the JSON of amperf. See docs/output.md.
const amperfFormat = 1

type (
	amperfJSON struct {
		Format     int              `json:"format"`
		Experiment string           `json:"experiment"`
		Directory  string           `json:"folder"`
		Tolerance  float64          `json:"ratio_tolerance"`
		Threshold  float64          `json:"busy_threshold"` // 0: derived for each record
		Damaged    int              `json:"damaged_records"`
		Keys       []amperfKeyJSON  `json:"keys"`
		Violating  []amperfSlotJSON `json:"violating"`
	}
	amperfKeyJSON struct {
		Key       string `json:"key"`
		Records   int    `json:"records"`
		Judged    int    `json:"judged"`
		Violating int    `json:"violating_records"`
		frequency
	}
	amperfSlotJSON struct {
		slotJSON
		Outcome results.Outcome `json:"outcome"`
		Reasons []string        `json:"reasons"`
		frequency
	}
	// frequency is how often, and how far, busy cores left the base frequency.
	frequency struct {
		Iterations int      `json:"iterations"`
		Throttled  int      `json:"throttled_iterations"`
		Turbo      int      `json:"turbo_iterations"`
		Lowest     *float64 `json:"lowest_ratio"`  // null: no core was busy
		Highest    *float64 `json:"highest_ratio"` // null also when it is infinite
	}
)

// add puts two together.
func (f *frequency) add(g frequency) {
	f.Iterations, f.Throttled, f.Turbo = f.Iterations+g.Iterations, f.Throttled+g.Throttled, f.Turbo+g.Turbo
	if g.Lowest != nil {
		f.see(*g.Lowest)
	}
	if g.Highest != nil {
		f.see(*g.Highest)
	}
}

// see takes a ratio into the extremes.
func (f *frequency) see(ratio float64) {
	if math.IsInf(ratio, 0) || math.IsNaN(ratio) {
		return
	}
	if f.Lowest == nil || ratio < *f.Lowest {
		f.Lowest = &ratio
	}
	if f.Highest == nil || ratio > *f.Highest {
		f.Highest = &ratio
	}
}

// judge compares one record with the limits.
func judge(run verdict.CounterRun, limits verdict.CounterLimits) (frequency, []string) {
	f := frequency{Iterations: len(run.WallNS)}
	j := verdict.JudgeCounters(run, limits)
	throttled, turbo := make(map[int]bool), make(map[int]bool)
	for _, v := range j.Violations {
		if v.Kind == verdict.Turbo {
			turbo[v.Iteration] = true
		} else {
			throttled[v.Iteration] = true
		}
	}
	f.Throttled, f.Turbo = len(throttled), len(turbo)
	// With a tolerance below zero every ratio of a busy core is listed: the extremes of all.
	all := verdict.CounterLimits{Tolerance: math.Inf(-1), BusyThreshold: j.BusyThreshold}
	for _, v := range verdict.JudgeCounters(run, all).Violations {
		f.see(v.Ratio)
	}
	return f, j.Reasons()
}

func (a *app) amperf(arg string, o amperfOptions) error {
	pattern, err := parsePattern(o.key)
	if err != nil {
		return err
	}
	f, err := a.openDirectory(arg)
	if err != nil {
		return err
	}
	m, err := a.measurements(f, pattern)
	if err != nil {
		return err
	}
	doc := amperfJSON{Format: amperfFormat, Directory: f.Dir(), Keys: []amperfKeyJSON{}, Violating: []amperfSlotJSON{}}
	rows := make(map[key.Key]int)
	limits, known, why := verdict.CounterLimits{}, false, ""
	for rec := range m.all() {
		if !known {
			limits, known = a.limits(f, rec.Host, o), true
		}
		doc.Experiment = rec.Experiment
		if _, seen := rows[rec.Key]; !seen {
			rows[rec.Key] = len(doc.Keys)
			doc.Keys = append(doc.Keys, amperfKeyJSON{Key: rec.Key.String()})
		}
		doc.Keys[rows[rec.Key]].Records++
		run, ok := verdict.RunOf(rec.Record)
		if !ok || !run.HasRatio() {
			why = fmt.Sprintf("counters of record %d-%d: %s (%s)", rec.Slot, rec.Attempt, rec.CounterSource, rec.CounterReason)
			continue
		}
		doc.one(&doc.Keys[rows[rec.Key]], rec.Record, run, limits)
	}
	doc.Tolerance, doc.Threshold, doc.Damaged = limits.Tolerance, limits.BusyThreshold, m.damaged
	if o.json {
		err = a.printJSON(doc)
	} else {
		a.printAmperf(doc)
	}
	return firstOf(err, doc.verdict(why))
}

// one judges a record with counters.
func (d *amperfJSON) one(row *amperfKeyJSON, rec results.Record, run verdict.CounterRun, limits verdict.CounterLimits) {
	f, reasons := judge(run, limits)
	row.Judged++
	row.add(f)
	if len(reasons) == 0 {
		return
	}
	row.Violating++
	d.Violating = append(d.Violating, amperfSlotJSON{
		slotJSON: slotJSON{Slot: rec.Slot, Attempt: rec.Attempt, Pexec: rec.Pexec, Key: rec.Key.String()},
		Outcome:  rec.Outcome, Reasons: reasons, frequency: f,
	})
}

// verdict is the error to end with. why is the reason of a record that has no
// counters.
func (d *amperfJSON) verdict(why string) error {
	judged := 0
	for _, k := range d.Keys {
		judged += k.Judged
	}
	switch {
	case len(d.Violating) > 0:
		return errFound
	case judged == 0 && why != "":
		return fmt.Errorf("no record has APERF and MPERF, so nothing can be said; %s", why)
	case judged == 0:
		return errors.New("there are no records to judge")
	}
	return nil
}

// limits are those of the experiment, where the options do not say others.
func (a *app) limits(f directory.Directory, host string, o amperfOptions) verdict.CounterLimits {
	limits := verdict.CounterLimits{Tolerance: verdict.DefaultTolerance}
	if cfg, err := a.copiedConfig(f, host); err == nil {
		limits = verdict.CounterLimits{Tolerance: cfg.Verdict.RatioTolerance, BusyThreshold: cfg.Verdict.BusyThreshold}
	} else if o.tolerance < 0 || o.threshold < 0 {
		a.talk("krunctl: the experiment's limits are unknown, the study's are used: %s", firstProblem(err))
	}
	if o.tolerance >= 0 {
		limits.Tolerance = o.tolerance
	}
	if o.threshold >= 0 {
		limits.BusyThreshold = o.threshold
	}
	return limits
}
