package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/trust"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/reading/experiment"
	"krund/internal/reading/integrity"
)

type repairOptions struct {
	dryRun, machine, keepAccount bool
	host                         string
}

func repairCommand(a *app) *cobra.Command {
	var o repairOptions
	c := &cobra.Command{
		Use: "repair DIR|NAME.toml", Short: "Repair an experiment's directory, or restore the machine",
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(c *cobra.Command, args []string) error {
			if !o.machine {
				if err := only(c, "a directory; add --machine", "dry-run host"); err != nil {
					return err
				}
				return a.repair(args[0], o)
			}
			if err := only(c, "--machine", "machine keep-account"); err != nil {
				return err
			}
			return a.restore(c.Context(), args[0], o.keepAccount)
		},
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only print what would be done")
	c.Flags().BoolVar(&o.machine, "machine", false, "restore what a killed krund has left changed (root)")
	c.Flags().BoolVar(&o.keepAccount, "keep-account", false,
		"with --machine: keep the account for benchmarks")
	a.hostFlag(c.Flags(), &o.host, " if the records name none")
	hide(c.Flags(), "host")
	return c
}

func (a *app) repair(arg string, o repairOptions) error {
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
	done, err := integrity.Mend(f.Directory, o.host, o.dryRun, a.now())
	would := ""
	if o.dryRun {
		would = "would have "
	}
	for _, what := range done {
		a.print("%s%s\n", would, display.Terminal(what))
	}
	if err != nil {
		return err
	}
	if len(done) == 0 {
		a.print("nothing to repair\n")
	}
	if o.dryRun {
		return nil
	}
	left := integrity.Check(f.Directory, o.host).Problems
	a.console().Defects("remaining", left)
	if len(left) > 0 {
		return errFound
	}
	return nil
}

// restore restores the machine.
func (a *app) restore(ctx context.Context, arg string, keepAccount bool) error {
	f, lock, err := a.openToRestore(arg)
	spare := directory.Spare(a.fsys, experiment.DirectoryOf(arg), a.runtime...)
	_, missing := a.fsys.Lstat(spare)
	hasCopy := spare != "" && missing == nil
	if err == nil {
		defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
		lost := hasCopy && control.Lost(f.FS(), f.Journal())
		err = a.restoreFrom(ctx, f.FS(), f.Journal(), spare, keepAccount)
		if !lost || errors.Is(err, directory.ErrBusy) {
			return err
		}
		err = errors.Join(errors.New("changes may be missing from the journal"), err)
	}
	if locked, ok := errors.AsType[*directory.LockedError](err); !hasCopy || ok && locked.Stranger == "" {
		return err // without a copy, or another krund works on it, which restores the machine itself
	}
	a.talk("krunctl: %v", err)
	a.talk("krunctl: using the copy of the journal in %s", spare)
	if err := a.restoreFrom(ctx, a.fsys, spare, spare, keepAccount); err != nil {
		return err
	}
	return errFound
}

// openToRestore opens the experiment as krund does, and locks it. A directory that other users can
// change is refused: they could have written its journal.
func (a *app) openToRestore(arg string) (experiment.Experiment, *directory.Lock, error) {
	f, err := experiment.OpenToChange(a.fsys, arg, a.uid)
	if err != nil {
		return f, nil, err
	}
	if cfg, err := f.Config(a.host); err == nil &&
		config.Restarts(cfg.Experiment.Reboot) && a.uid == 0 {
		if f.Directory, err = directory.OpenChecked(a.fsys, f.Dir(), trust.Verdict.RootOnly); err != nil {
			return f, nil, err
		}
	}
	lock, err := a.lockAfterGuard(f)
	return f, lock, err
}

// restoreFrom restores the settings in the journal at path; spare is the path of its copy.
func (a *app) restoreFrom(
	ctx context.Context,
	fsys durable.FS,
	path, spare string,
	keepAccount bool,
) error {
	if pending, err := control.ReadJournal(fsys, path); err == nil && len(pending) == 0 {
		if spare != "" && !control.Lost(fsys, path) {
			_ = a.fsys.Remove(spare) // an older krund restored the machine without removing it
		}
		a.print("nothing to restore\n")
		return nil
	}
	if a.uid == 0 && len(a.runtime) > 0 { // it could revert settings of another experiment
		machine, err := directory.LockMachine(a.fsys, path, a.runtime...)
		own, ok := errors.AsType[*directory.GuardError](err)
		switch {
		case ok && own.For == filepath.Dir(path): // its guard waits for the experiment's lock, held here
		case err != nil:
			return err
		default:
			defer machine.Release() //nolint:errcheck // as in restore
		}
	}
	m := a.machine(ctx)
	journal, err := control.OpenJournal(fsys, path, m.Boot, a.now)
	if err != nil {
		return fmt.Errorf("open the journal of settings: %w", err)
	}
	journal.Spare(spare)
	for _, line := range journal.Damage() {
		a.talk("krunctl: a damaged line of the journal was left out: %s", line)
	}
	restore := control.Restore
	if keepAccount {
		restore = control.RestoreSettings
	}
	report, err := restore(ctx, m, journal)
	return errors.Join(report.Print(a.stdout), err, journal.Close())
}

// lockAfterGuard locks the experiment. If krund has just been killed, it waits for the guard, which
// restores the machine and ends.
func (a *app) lockAfterGuard(f experiment.Experiment) (*directory.Lock, error) {
	lock, err := f.Lock(os.Getpid(), a.host)
	if locked, ok := errors.AsType[*directory.LockedError](err); ok && locked.Host == a.host &&
		directory.IsGuard(locked.PID) {
		return f.LockWait(os.Getpid(), a.host)
	}
	return lock, err
}
