package main

import (
	"context"
	"fmt"
	"os"

	"krund/internal/clock"
	"krund/internal/config"
	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/folder"
	"krund/internal/guard"
	"krund/internal/machine"
	"krund/internal/shellword"
	"krund/internal/sysroot"
)

// newGuard returns what starts a guard of the experiment in the folder dir.
func newGuard(dir, mode string, cpus control.CPUs) func(context.Context) (machine.Guard, error) {
	return func(ctx context.Context) (machine.Guard, error) {
		return guard.Start(ctx, guard.Options{About: []string{dir, mode}, CPUs: cpus, Log: os.Stderr})
	}
}

// putBack is what a guard does when krund has died: it puts back what the journal of the experiment still holds, and says so on standard error
// and in the experiment's log. When another krund works on the experiment by then, it waits for its end. With reboots the account for benchmarks
// stays: the next boot goes on with the experiment. When krund has said that the machine restarts, people need not be told.
func putBack(about []string, restarting bool) error {
	if len(about) != 2 {
		return fmt.Errorf("told about %q, want a folder and whether there are reboots", about)
	}
	dir, mode := about[0], about[1]
	f, err := folder.Open(durable.OS(), dir)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	lock, err := f.LockWait(os.Getpid(), host)
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
	log, closeLog, err := newLog(f.Log(), runOptions{}, os.Stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx := context.Background() // nobody can interrupt it
	m := machine.Machine{
		Control: control.NewMachine(ctx, sysroot.New("/")), FS: durable.OS(), Journal: f.Journal(), Clock: clock.Real{}, Log: log,
		Restarting: restarting,
	}
	back := m.PutBack
	if mode == config.RebootHardware {
		back = m.Recover
	}
	if err := back(ctx); err != nil {
		log.Error("put the machine back", "error", err, "again", "krunctl restore "+shellword.Path(dir))
		return errSilent
	}
	return nil
}
