package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
)

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
