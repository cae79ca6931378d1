package main

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/analysis/classify"
	"krund/internal/analysis/enough"
	"krund/internal/analysis/warmup"
	"krund/internal/reading/pilot"
	"krund/internal/report"
)

type enoughOptions struct {
	level, change, format, write, pilot, key string
	boot                                     time.Duration
	writeChange                              bool
	search                                   enough.Options
}

func enoughCommand(a *app) *cobra.Command {
	var o enoughOptions
	c := &cobra.Command{
		Use:   "enough DIR|NAME.toml|FILE",
		Short: "Tell how many executions are enough, and what that takes",
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE: func(c *cobra.Command, args []string) error {
			o.writeChange = c.Flags().Changed("change")
			if err := o.parse(c.Flags().Changed("level")); err != nil {
				return usageError(err)
			}
			return a.enough(args[0], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.level, "level", "1%", "wanted half width of the interval of a level")
	f.StringVar(&o.change, "change", "2%", "change that a comparison is to find")
	f.StringVar(&o.pilot, "pilot", "", "experiment that was the first stage of this one")
	f.StringVar(&o.write, "write", "", "also write a configuration with the executions to this file")
	f.DurationVar(&o.boot, "boot", 0, "time of a restart, if the results do not tell")
	formatFlag(f, &o.format, "text", "json")
	a.keyFlag(c, &o.key)
	c.AddCommand(stabilityCommand(a), optimizeCommand(a), simulateCommand(a), howLongCommand(a))
	return c
}

// share parses a percentage of a flag.
func share(flag, text string) (float64, error) {
	d, err := classify.ParseDelta(text)
	if err != nil || !d.Percent || !(d.Value > 0 && d.Value < 100) {
		return 0, fmt.Errorf("--%s must be a percentage such as 2%%, not %q", flag, text)
	}
	return d.Value / 100, nil
}

func (o *enoughOptions) parse(level bool) error {
	for _, p := range []struct {
		flag, text string
		into       *float64
	}{{"level", o.level, &o.search.Level}, {"change", o.change, &o.search.Change}} {
		var err error
		if *p.into, err = share(p.flag, p.text); err != nil {
			return err
		}
	}
	switch {
	case o.boot < 0:
		return errors.New("--boot must not be negative")
	case o.write == "":
	case o.key != "" || o.pilot != "":
		return errors.New("--write is for all keys of a pilot; omit --key and --pilot")
	case o.writeChange && level:
		return errors.New("--write is for --level, or for --change; give one of them")
	case isRegular(o.write):
		return fmt.Errorf("--write: %s exists; name another file, or remove it", o.write)
	}
	return nil
}

// enough prints how many executions are enough.
func (a *app) enough(arg string, o enoughOptions) error {
	r := a.reader(runtime.NumCPU())
	x, err := pilot.Read(r, arg, o.key, o.boot)
	if err != nil {
		return err
	}
	if o.pilot != "" {
		first, err := pilot.Read(r, o.pilot, o.key, o.boot)
		if err != nil {
			return err
		}
		if first.Source == x.Source {
			return usageError(errors.New("--pilot must be another experiment than that of the second stage"))
		}
		x.After(first)
		o.search.First = first.ByKey()
	}
	doc := enough.Of(x.Source, x.Pilots, o.search)
	doc.Pilot, doc.Unit, doc.Notes = o.pilot, x.Unit, append(doc.Notes, x.Notes...)
	if o.write != "" {
		if err := a.writeEnough(arg, doc, o); err != nil || isStdout(o.write) {
			return err
		}
	}
	err = a.answer(o.format, doc, func() { report.EnoughText(a.stdout, a.console().Width(), doc) })
	judged := func(k enough.Key) bool { return k.Unknown == "" }
	if err == nil && count(doc.Keys, judged) == 0 && len(a.empty) == 0 {
		err = fmt.Errorf("%w: no key shows how its executions vary; the output says why", errUnjudged)
	}
	return err
}

// writeEnough writes the configuration of what is enough.
func (a *app) writeEnough(arg string, doc *enough.Document, o enoughOptions) error {
	text, err := pilot.Configuration(a.fsys, arg, o.write, a.host, doc, o.writeChange, isStdout(o.write))
	if err != nil {
		return err
	}
	return a.toText(o.write, text)
}

func howLongCommand(a *app) *cobra.Command {
	var key, format string
	c := &cobra.Command{
		Use:   "how-long DIR|NAME.toml|FILE",
		Short: "Would a shorter experiment have led to the same classification?",
		Args:  arguments(1, 1, "an experiment or a file of results"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.howLong(args[0], key, format)
		},
	}
	formatFlag(c.Flags(), &format, "text", "json")
	a.keyFlag(c, &key)
	return c
}

func (a *app) howLong(arg, key, format string) error {
	in, doc, err := a.reader(runtime.NumCPU()).Analyzed(arg, key, nil)
	if err != nil {
		return err
	}
	study, err := warmup.HowLong(in.Data, doc, warmup.ShorterOptions{Workers: runtime.NumCPU()})
	if err != nil {
		return fmt.Errorf("find out how long %s should have run: %w", in.Data.Source, err)
	}
	return a.answer(format, study, func() { report.HowLongText(a.stdout, study) })
}
