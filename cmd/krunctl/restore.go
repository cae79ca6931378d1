package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"krund/internal/control"
	"krund/internal/folder"
	"krund/internal/guard"
)

const restoreHelp = `Restore puts back every setting of the machine that a krund which was killed has
left behind, in the reverse order of the changes, and says what it did. What
krund changes is in the experiment's journal before it is changed. Settings of an
earlier boot are void: the restart has taken them back.

So is the account that krund makes for benchmarks, which goes with its home and
files, unless it was there before krund. With --keep-account it stays, as it
does from one boot of an experiment to the next.

It needs root, takes the experiment's lock, and is refused while krund runs, on
this experiment or on another one that has taken the machine over.
Doing it again does nothing.

EXAMPLES
  krunctl restore warmup.toml
` + exitHelp

func restoreCommand(a *app) *cobra.Command {
	var keepAccount bool
	c := &cobra.Command{
		Use:   "restore DIR|NAME.toml",
		Short: "Put back settings of the machine that a killed krund has left",
		Long:  restoreHelp,
		Args:  arguments(1, 1, "the experiment's folder or configuration"),
		RunE:  func(c *cobra.Command, args []string) error { return a.restore(contextOf(c), args[0], keepAccount) },
	}
	c.Flags().BoolVar(&keepAccount, "keep-account", false, "leave the account for benchmarks")
	return c
}

func (a *app) restore(ctx context.Context, arg string, keepAccount bool) error {
	f, err := a.openFolder(arg)
	if err != nil {
		return err
	}
	lock, err := a.lockAfterGuard(f)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
	if pending, err := control.ReadJournal(a.fsys, f.Journal()); err == nil && len(pending) == 0 {
		a.print("nothing to put back\n")
		return nil
	}
	if a.uid == 0 && len(a.runtime) > 0 { // what it put back could be what another experiment has set
		machine, err := folder.LockMachine(a.fsys, a.runtime...)
		if err != nil {
			return err
		}
		defer machine.Release() //nolint:errcheck // as above
	}
	m := a.machine(ctx)
	journal, err := control.OpenJournal(a.fsys, f.Journal(), m.Boot, a.now)
	if err != nil {
		return fmt.Errorf("open the journal of settings: %w", err)
	}
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

// lockAfterGuard locks the experiment. When krund has just been killed, its guard
// may be at work on the same, and is about to end.
func (a *app) lockAfterGuard(f folder.Folder) (*folder.Lock, error) {
	lock, err := f.Lock(os.Getpid(), a.host)
	var locked *folder.LockedError
	if errors.As(err, &locked) && locked.Host == a.host && guard.Is(locked.PID) {
		return f.LockWait(os.Getpid(), a.host)
	}
	return lock, err
}
