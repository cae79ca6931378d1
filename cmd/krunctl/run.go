package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/display"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/internal/schedule/rerun"
	"krund/internal/trial"
)

// startKrund starts krund, which is beside krunctl: it becomes krund, or waits for its end.
func startKrund(args []string, wait bool) error {
	path, err := trial.KrundPath()
	if err != nil {
		return err
	}
	if !wait {
		return syscall.Exec(path, append([]string{path}, args...), os.Environ())
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt) // krund gets them, too
	defer signal.Stop(signals)
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.Run()
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		return krundError(status.ExitCode())
	}
	return err
}

// krundError is the exit status of a krund that has said why.
type krundError int

func (e krundError) Error() string { return "" }

type runOptions struct {
	again, later bool
	executions   string
	rerunOptions
}

func runCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use: "run NAME.toml", Short: "Measure an experiment in this terminal",
		Args: arguments(1, 1, "the experiment's configuration, NAME.toml (`krunctl time` measures commands)"),
		RunE: func(c *cobra.Command, args []string) error {
			o.dryRun, _ = c.Flags().GetBool("dry-run")
			if o.executions != "" {
				return a.extend(c, args[0], o)
			}
			if !o.again {
				if err := only(c, "run without --again", forKrund); err != nil {
					return err
				}
				return a.krund(append(flagsOf(c, "run"), args[0]), false)
			}
			if err := only(c, "run --again", "again later outcome slot key dry-run"); err != nil {
				return err
			}
			if err := a.rerun(args[0], o.rerunOptions); err != nil || o.dryRun || o.later {
				return err
			}
			return a.runHere(args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&o.later, "later", false, "with --again: only make them outstanding")
	f.Bool("quick", false,
		"a first look: no restarts, no waits, two executions, few iterations, NAME-quick.krun")
	f.String("reboot", "", "what restarts before each execution: hardware, kexec, soft or none")
	f.String("directory", "", "the experiment's directory, instead of NAME.krun")
	f.Bool("accept-changed", false, "go on with programs that have changed, as a new edition")
	f.Bool("dry-run", false, "only print what would run")
	f.Bool("quiet", false, "print only errors")
	f.Bool("verbose", false, "also print debugging messages")
	hide(f, "quiet", "verbose", "later")
	f.BoolVar(&o.again, "again", false,
		"run finished slots once more; --outcome, --slot and --key select them")
	f.StringSliceVar(&o.outcomes, "outcome", nil,
		"slots that ended so: error, timeout, completed, or several with commas")
	f.IntSliceVar(&o.slots, "slot", nil, "the slot of that number, from 0, as status prints it")
	a.keyFlag(c, &o.key)
	f.StringVar(&o.executions, "executions", "", "add so many of each key to those that were measured: +15")
	return c
}

// extend adds executions to the configuration of an experiment that has ended, and runs them unless
// they restart the machine.
func (a *app) extend(c *cobra.Command, path string, o runOptions) error {
	if err := only(c, "run --executions", "executions dry-run"); err != nil {
		return err
	}
	wider, err := experiment.MoreExecutions(a.fsys, path, a.host, o.executions)
	if err == nil && !o.dryRun {
		err = wider.Store()
	}
	if err != nil {
		return err
	}
	if a.print("%s\n", wider.Said); o.dryRun {
		return nil
	}
	return a.runHere(path)
}

// forKrund are the flags that krund run has, too.
const forKrund = "quick reboot directory accept-changed dry-run quiet verbose"

// flagsOf returns a command of krund with the flags that were given.
func flagsOf(c *cobra.Command, command string) []string {
	args := []string{command}
	c.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "format" && f.Value.String() == "json":
			args = append(args, "--json")
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			args = append(args, "--"+f.Name)
		case f.Value.Type() == "string":
			args = append(args, "--"+f.Name, f.Value.String())
		}
	})
	return args
}

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
		err = errors.New("no finished slot matches; `krunctl status` lists failed slots")
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
