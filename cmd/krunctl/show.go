package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/execution/verdict"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

type showOptions struct {
	format, key, by, idle, busy string
	series, startup, counters   bool
}

func showCommand(a *app) *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show DIR|NAME.toml|FILE [KEY | SLOT[-ATTEMPT]]",
		Short: "Print what was recorded: a row for each key, or one execution",
		Args:  arguments(1, 2, "an experiment, and perhaps a key or a slot; or a file"),
		RunE:  func(c *cobra.Command, args []string) error { return a.show(c, args, o) },
	}
	f := c.Flags()
	formatFlag(f, &o.format, "text", "json")
	a.keyFlag(c, &o.key)
	f.BoolVar(&o.series, "series", false, "of one execution, also a row for each iteration")
	f.BoolVar(&o.startup, "startup", false, "print how long each VM takes to start")
	choiceFlag(f, &o.by, "by", "", "of --startup: a row for each of them", string(summary.ByVM),
		string(summary.ByKey))
	f.BoolVar(&o.counters, "counters", false, "check for throttled cores and for turbo")
	f.StringVar(&o.idle, "idle", "", "slot or key of a run with idle cores: suggest the limits of --counters")
	f.StringVar(&o.busy, "busy", "", "slot or key of a run with busy cores")
	return c
}

// show finds out what is asked: a record, or rows of keys.
func (a *app) show(c *cobra.Command, args []string, o showOptions) error {
	if len(args) == 2 && strings.Contains(args[1], ":") {
		if o.key != "" {
			return usageError(errors.New("the key is named twice: omit --key"))
		}
		args, o.key = args[:1], args[1]
	}
	what, allowed, print := "rows of keys", "format key", a.summary
	switch {
	case o.startup:
		what, allowed, print = "--startup", "format startup by key", a.startup
	case o.idle != "" || o.busy != "":
		what, allowed, print = "a calibration", "format counters key idle busy", a.calibrate
	case o.counters:
		what, allowed, print = "--counters", "format counters key", a.counted
	case len(args) == 2 || isRecord(args[0]):
		what, allowed = "one execution", "format series"
		print = func(string, showOptions) error { return a.record(args, o) }
	}
	if err := only(c, what, allowed); err != nil {
		return err
	}
	return print(args[0], o)
}

// isRecord reports whether a file has the name of a record.
func isRecord(file string) bool {
	_, ok := results.ParseName(filepath.Base(file))
	return ok || strings.HasSuffix(file, ".json.gz")
}

// record prints one execution.
func (a *app) record(args []string, o showOptions) error {
	file, err := args[0], error(nil)
	if len(args) == 2 {
		file, err = experiment.RecordFile(a.fsys, args[0], args[1])
	}
	if err != nil {
		return err
	}
	packed, err := durable.ReadFile(a.fsys, file)
	var rec results.Record
	if err == nil {
		rec, err = results.Decode(packed)
	}
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return fmt.Errorf("read the record: %w", err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if o.format == "json" {
		return results.Copy(a.stdout, packed)
	}
	a.console().Record(rec)
	if o.series {
		a.print("\n")
		a.console().Series(rec)
	}
	return nil
}

// summary prints a row for each key.
func (a *app) summary(arg string, o showOptions) error {
	pattern, err := experiment.ParsePattern(o.key)
	if err != nil {
		return err
	}
	doc, err := a.summaryOf(arg, pattern)
	if err != nil {
		return err
	}
	return a.answer(o.format, doc, func() { a.console().Summary(doc.Keys) })
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

// startup prints how long each VM takes to start.
func (a *app) startup(arg string, o showOptions) error {
	f, m, err := a.opened(arg, o.key)
	if err != nil {
		return err
	}
	doc, err := summary.StartupOf(f.Dir(), m, summary.By(o.by))
	switch {
	case err != nil:
		return err
	case o.format != "json" && len(doc.Rows) == 0:
		return errors.New("no record counts yet; `krunctl status` shows how far the experiment is")
	}
	return a.answer(o.format, doc, func() { a.console().Startup(doc) })
}

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
	f, m, err := a.opened(arg, "")
	if err != nil {
		return err
	}
	doc, err := summary.Calibrate(f.Dir(), m.Whole(), o.idle, o.busy)
	if err != nil {
		return err
	}
	return a.answer(o.format, doc, func() {
		a.print("# from %s of %s idle and %s of %s busy\n",
			display.Count(doc.Idle.Iterations, "iteration"), display.Count(doc.Idle.Records, "record"),
			display.Count(doc.Busy.Iterations, "iteration"), display.Count(doc.Busy.Records, "record"))
		a.print("[verdict]\nratio_tolerance = %v\nbusy_threshold = %.1f\n", doc.Tolerance, doc.Threshold)
	})
}
