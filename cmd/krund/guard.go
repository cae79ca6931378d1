package main

import (
	"context"
	"os"

	"krund/internal/clock"
	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/folder"
	"krund/internal/guard"
	"krund/internal/machine"
	"krund/internal/sysroot"
)

// newGuard returns what starts a guard of the experiment in the folder dir.
func newGuard(dir string, cpus control.CPUs) func(context.Context) (machine.Guard, error) {
	return func(ctx context.Context) (machine.Guard, error) {
		return guard.Start(ctx, guard.Options{Subject: dir, CPUs: cpus, Log: os.Stderr})
	}
}

// putBack is what a guard does when krund has died: it puts back what the journal of the experiment in dir still holds, and says so on standard
// error and in the experiment's log. When another krund works on the experiment by then, it waits for its end.
func putBack(dir string) error {
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
	}
	if err := m.Recover(ctx); err != nil {
		log.Error("put the machine back", "error", err, "again", "krunctl restore "+dir)
		return errSilent
	}
	return nil
}
