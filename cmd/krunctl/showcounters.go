package main

import (
	"errors"
	"fmt"

	"krund/internal/display"
	"krund/internal/execution/verdict"
	"krund/internal/reading/summary"
)

// counted checks the counters of an experiment.
func (a *app) counted(arg string, o showOptions) error {
	f, m, err := a.opened(arg, o.key)
	if err != nil {
		return err
	}
	doc := summary.NewCounters(f.Dir())
	limits, known := verdict.CounterLimits{}, false
	for rec := range m.Whole() {
		if !known {
			limits, known = summary.LimitsOf(f, rec.Host, a.talk), true
		}
		doc.Add(rec, limits)
	}
	doc.Tolerance, doc.Threshold, doc.Damaged = limits.Tolerance, limits.BusyThreshold, m.Damaged
	err = a.answer(o.format, doc, func() { a.console().Counters(doc) })
	switch {
	case err != nil:
		return err
	case len(doc.Violating) > 0:
		return errFound
	}
	return doc.Err()
}

// calibrate suggests limits.
func (a *app) calibrate(arg string, o showOptions) error {
	if o.idle == "" || o.busy == "" {
		return usageError(errors.New("a calibration needs both --idle and --busy"))
	}
	idle, err := summary.ParseSelection(o.idle)
	if err != nil {
		return usageError(fmt.Errorf("--idle: %w", err))
	}
	busy, err := summary.ParseSelection(o.busy)
	if err != nil {
		return usageError(fmt.Errorf("--busy: %w", err))
	}
	f, m, err := a.opened(arg, "")
	if err != nil {
		return err
	}
	doc, err := summary.Calibrate(m.Whole(), idle, busy)
	if nothing := (*summary.NothingSelectedError)(nil); errors.As(err, &nothing) {
		return fmt.Errorf(
			"%w; `krunctl show %s` lists the keys, `krunctl show` prints the counters of a record",
			err, display.ShellPath(f.Dir()))
	}
	if err != nil {
		return err
	}
	doc.Directory = f.Dir()
	if o.format == "json" {
		return a.printJSON(doc)
	}
	a.print("# from %s of %s idle and %s of %s busy\n",
		display.Count(doc.Idle.Iterations, "iteration"), display.Count(doc.Idle.Records, "record"),
		display.Count(doc.Busy.Iterations, "iteration"), display.Count(doc.Busy.Records, "record"))
	a.print("[verdict]\nratio_tolerance = %v\nbusy_threshold = %.1f\n", doc.Tolerance, doc.Threshold)
	return nil
}
