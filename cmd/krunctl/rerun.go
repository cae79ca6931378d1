package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"krund/internal/display"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
)

type rerunOptions struct {
	outcomes []string
	slots    []int
	key      string
	dryRun   bool
}

// rerunOutcomes are the values of --outcome.
var rerunOutcomes = map[string]schedule.Flag{
	"error": schedule.Error, "timeout": schedule.Timeout, "completed": schedule.Completed,
}

// selection returns what the options select.
func (o rerunOptions) selection() (of rerun.Selection, err error) {
	if len(o.outcomes)+len(o.slots) == 0 && o.key == "" {
		return of, errors.New("select what runs again: --outcome error,timeout, --slot N or --key KEY")
	}
	for _, name := range o.outcomes {
		f, ok := rerunOutcomes[name]
		if !ok {
			return of, fmt.Errorf("--outcome must be error, timeout or completed, not %q", name)
		}
		of.Flags = append(of.Flags, f)
	}
	of.Slots = o.slots
	of.Keys, err = experiment.ParsePattern(o.key)
	return of, err
}

// rerun makes finished slots outstanding.
func (a *app) rerun(arg string, o rerunOptions) error {
	selected, err := o.selection()
	if err != nil {
		return usageError(err)
	}
	f, err := experiment.OpenToChange(a.fsys, arg, a.uid)
	if err != nil {
		return err
	}
	if !o.dryRun {
		lock, err := f.Lock(os.Getpid(), a.host)
		if err != nil {
			return err
		}
		defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
	}
	s, err := schedule.Open(f.FS(), f.Schedule(), !o.dryRun)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // every write was synced
	if !o.dryRun {
		if _, err := rerun.Complete(f.Directory, s); err != nil { // an earlier request
			return err
		}
	}
	slots, err := selected.Of(s)
	if err == nil && len(slots) == 0 {
		err = fmt.Errorf("no finished slot matches %s; `krunctl status` lists failed slots", o)
	}
	if err != nil {
		return err
	}
	for _, slot := range slots {
		a.print("%8d  %7d  %-9s  %s\n", slot.Index, slot.Pexec, slot.Flag, slot.Key)
	}
	what := display.Count(len(slots), "slot")
	if o.dryRun {
		a.print("would run %s again\n", what)
		return nil
	}
	if cfg, err := f.Config(a.host); err == nil {
		if err := identity.Unchanged(context.Background(), f.FS(), f.Editions(), cfg); err != nil {
			return err
		}
	}
	if err := rerun.Again(f.Directory, s, slots); err != nil {
		return explainRights(err)
	}
	a.print("%s outstanding again; the records are kept as results/*.replaced; `%s` runs them\n", what,
		display.ShellJoin(append([]string{"krunctl"}, a.nextOf(f)...)))
	skipped := slices.ContainsFunc(slots, func(s schedule.Slot) bool { return s.Flag == schedule.Skipped })
	if cfg, err := f.Config(a.host); err == nil && len(cfg.Stop.Rules) > 0 && skipped {
		a.print("the experiment's [stop] decides before they run, and may skip them again\n")
	}
	return nil
}

// nextOf returns the command of krunctl that runs the experiment of a directory.
func (a *app) nextOf(f experiment.Experiment) []string {
	file := experiment.ConfigOf(f.Dir())
	if whole, quick := strings.CutSuffix(file, config.QuickMark+".toml"); quick {
		if _, err := os.Lstat(file); err != nil {
			return []string{"run", "--quick", whole + ".toml"}
		}
	}
	if cfg, err := f.Config(a.host); err == nil && config.Restarts(cfg.Experiment.Reboot) {
		return []string{"enable", file}
	}
	return []string{"run", file}
}

// runHere starts krund on an experiment, unless that restarts the machine.
func (a *app) runHere(arg string) error {
	f, err := experiment.Open(a.fsys, arg)
	if err != nil {
		return err
	}
	if next := a.nextOf(f); next[0] == "run" {
		return a.krund(next, false)
	}
	return nil
}

// String returns the options as on the command line.
func (o rerunOptions) String() string {
	var parts []string
	if len(o.outcomes) > 0 {
		parts = append(parts, "--outcome "+strings.Join(o.outcomes, ","))
	}
	for _, slot := range o.slots {
		parts = append(parts, fmt.Sprintf("--slot %d", slot))
	}
	if o.key != "" {
		parts = append(parts, "--key "+o.key)
	}
	return strings.Join(parts, " ")
}
