package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"krund/internal/boot"
	"krund/internal/boot/guard"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// newGuard returns a function that starts a guard of the experiment in dir. The guard inherits the
// machine's lock, so that no other krund begins before the machine is restored.
func newGuard(
	dir, mode string, cpus host.CPUs, lock *os.File,
) func(context.Context) (boot.Guard, error) {
	return func(ctx context.Context) (boot.Guard, error) {
		return guard.Start(ctx, guard.Options{
			About: []string{dir, mode}, CPUs: cpus, Log: os.Stderr, Lock: lock,
		})
	}
}

// patience is how long the guard waits for the experiment's directory and its lock before it
// restores the machine without them: the disk may have failed, and the lock may be held by a
// program that is not krund.
const patience = 3 * time.Second

// restoreAfterKill is the work of the guard when krund has ended without restoring the machine.
// about is the experiment's directory and the reboot mode.
func restoreAfterKill(about []string, restarting bool) error {
	if len(about) != 2 {
		return fmt.Errorf("the guard was started with %q, want a directory and the reboot mode", about)
	}
	dir, mode := about[0], about[1]
	ctx := context.Background() // the guard ignores signals
	m := boot.LabMachine{
		Control: control.NewMachine(ctx, sysroot.New("/")), Clock: sysroot.RealClock{},
		RestartExpected: restarting,
		Spare:           directory.Spare(durable.OS(), dir, directory.RuntimeDirs()...),
	}
	restore := m.RestoreAll
	if config.Restarts(mode) {
		restore = m.RestoreLeftover
	}
	c := claim(dir, mode)
	err := c.err
	if err == nil {
		defer c.lock.Release() //nolint:errcheck // the end of the process releases it, too
		defer c.closeLog()
		m.FS, m.Journal, m.Log = c.directory.FS(), c.directory.Journal(), c.log
		err = restore(ctx)
	}
	if _, there := os.Lstat(m.Spare); err != nil && there == nil {
		m.FS, m.Journal = durable.OS(), m.Spare
		m.Log = slog.New(newConsole(os.Stderr, slog.LevelWarn,
			isJournal(os.Stderr, os.Getenv("JOURNAL_STREAM"))))
		m.Log.Warn("the journal of settings cannot be used; using its copy", "copy", m.Spare, "error", err)
		err = restore(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w; run `krunctl repair --machine %s`", err, display.ShellPath(dir))
	}
	return nil
}

// A claimed experiment is locked by this process, unless err is set.
type claimed struct {
	directory directory.Directory
	lock      *directory.Lock
	log       *slog.Logger
	closeLog  func()
	waits     bool // for another krund, which restores the machine first
	err       error
}

// claim locks the experiment in dir. It waits for another krund without limit, and otherwise at
// most patience.
func claim(dir, mode string) claimed {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	states := make(chan claimed, 2)
	go func() { states <- claimWaiting(dir, mode, states) }()
	select {
	case c := <-states:
		if c.waits {
			return <-states
		}
		return c
	case <-ctx.Done():
		return claimed{err: fmt.Errorf("%s did not answer within %s", dir, patience)}
	}
}

func claimWaiting(dir, mode string, states chan<- claimed) (c claimed) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if c.directory, c.err = directory.OpenChecked(durable.OS(), dir, config.Rule(mode)); c.err != nil {
		return c
	}
	c.lock, c.err = c.directory.Lock(os.Getpid(), host)
	if locked, is := errors.AsType[*directory.LockedError](c.err); is && locked.Stranger == "" {
		states <- claimed{waits: true}
		c.lock, c.err = c.directory.LockWait(os.Getpid(), host)
	}
	if c.err != nil {
		return c
	}
	if c.log, c.closeLog, c.err = newLog(c.directory.FS(), c.directory.Log(), runOptions{},
		os.Stderr); c.err != nil {
		c.err = errors.Join(c.err, c.lock.Release())
	}
	return c
}

// guardTime bounds how long krund waits for the guard of a killed krund, which restores the machine
// within seconds.
const guardTime = time.Minute

// endingTries bounds the retries while the machine is locked but no holder is visible: a process
// that ends becomes invisible before it releases its locks.
const endingTries = 5

// lockMachine locks the machine for a krund that takes it over: with reboots, or with an account
// that is created anew for each execution, only one can run at a time, whatever its experiment. For
// other experiments, which may run at the same time, the lock is nil. It waits for the guard of a
// killed krund. The end of the process releases the lock, unless its guard has inherited it.
func lockMachine(
	ctx context.Context, cfg *config.Config, dir, reboot string, root bool, stderr io.Writer,
	runtimeDirs ...string,
) (*directory.Lock, error) {
	if !root || !config.Restarts(reboot) && cfg.Experiment.Account != config.AccountFresh {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	const interval = 100 * time.Millisecond
	again := time.NewTicker(interval)
	defer again.Stop()
	for waits, busy := false, 0; ; {
		lock, err := directory.LockMachine(durable.OS(), dir, runtimeDirs...)
		guard, guarded := errors.AsType[*directory.GuardError](err)
		switch {
		case guarded && !waits:
			fmt.Fprintf(stderr, "krund: waiting for the guard of a killed krund, process %d, to restore "+
				"the machine after %s\n", guard.PID, guard.For)
			waits = true
		case guarded:
		case errors.Is(err, directory.ErrBusy) && busy < endingTries:
			busy++
		default:
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-again.C:
		}
	}
}

// descriptor returns the open file of a lock, for the guard to inherit; nil without a lock.
func descriptor(lock *directory.Lock) *os.File {
	if lock == nil {
		return nil
	}
	return lock.File()
}
