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
	"krund/internal/experiment/key"
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

// check returns the flags of the outcomes and the pattern of the keys; nil for any.
func (o rerunOptions) check() (flags []schedule.Flag, pattern *key.Pattern, err error) {
	if len(o.outcomes)+len(o.slots) == 0 && o.key == "" {
		return nil, nil, errors.New("select what runs again: --outcome error,timeout, --slot N or --key KEY")
	}
	for _, name := range o.outcomes {
		f, ok := rerunOutcomes[name]
		if !ok {
			return nil, nil, fmt.Errorf("--outcome must be error, timeout or completed, not %q", name)
		}
		flags = append(flags, f)
	}
	pattern, err = experiment.ParsePattern(o.key)
	return flags, pattern, err
}

// rerun makes finished slots outstanding.
func (a *app) rerun(arg string, o rerunOptions) error {
	flags, pattern, err := o.check()
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
	slots, err := selectSlots(s, o, flags, pattern)
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
	if err := runAgain(f, s, slots); err != nil {
		return err
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

func runAgain(f experiment.Experiment, s *schedule.Schedule, slots []schedule.Slot) error {
	indexes := make([]int, len(slots))
	for i, slot := range slots {
		indexes[i] = slot.Index
	}
	if err := rerun.Ask(f.Directory, indexes); err != nil {
		return explainRights(err)
	}
	_, err := rerun.Complete(f.Directory, s)
	return err
}

// selectSlots returns the slots that the options select. It is an error if there are none, or if
// one that was named cannot run again.
func selectSlots(s *schedule.Schedule, o rerunOptions, flags []schedule.Flag,
	pattern *key.Pattern) ([]schedule.Slot, error) {
	for _, index := range o.slots {
		slot, err := s.Slot(index)
		if err == nil && !slot.Flag.Final() {
			err = fmt.Errorf("slot %d is %s already", index, slot.Flag)
		}
		if err != nil {
			return nil, err
		}
	}
	var list []schedule.Slot
	for slot, err := range s.Slots() {
		if err != nil {
			return nil, err
		}
		if !slot.Flag.Final() || len(flags) > 0 && !slices.Contains(flags, slot.Flag) ||
			len(o.slots) > 0 && !slices.Contains(o.slots, slot.Index) ||
			pattern != nil && !pattern.Match(slot.Key) {
			continue
		}
		if slot.Attempts > schedule.MaxAttempts-config.MaxAttempts {
			return nil, fmt.Errorf("slot %d has had %d attempts, and the schedule counts %d", slot.Index,
				slot.Attempts, schedule.MaxAttempts)
		}
		list = append(list, slot)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no finished slot matches %s; `krunctl status` lists failed slots", o)
	}
	return list, nil
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
