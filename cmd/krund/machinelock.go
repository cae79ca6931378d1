package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"krund/internal/config"
	"krund/internal/durable"
)

// errBusy is in the error when another krund works on this machine.
var errBusy = errors.New("another krund")

// lockMachine takes the machine for this krund when it is one that takes the machine over: with reboots, or with the account that it makes anew for
// each execution, there can be only one at a time, whatever its experiment. Other experiments may run beside each other. The end of the process
// releases the lock, too.
func lockMachine(cfg *config.Config, reboot string, root bool, runtimeDirs ...string) (release func(), err error) {
	if !root || reboot != config.RebootHardware && cfg.Experiment.Account != config.AccountFresh {
		return func() {}, nil
	}
	for _, dir := range runtimeDirs {
		if _, err = os.Stat(dir); err != nil {
			continue
		}
		return lockFile(filepath.Join(dir, "krund.lock"))
	}
	return nil, fmt.Errorf("find a place for the machine's lock: %w", err)
}

func lockFile(path string) (release func(), err error) {
	file, err := durable.OS().OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the machine: %w", err)
	}
	if err := durable.Lock(file); err != nil {
		closeErr := file.Close()
		if errors.Is(err, durable.ErrLocked) {
			return nil, fmt.Errorf("%w works on this machine (%s is locked); wait until it has ended: `systemctl list-units 'krund@*'` shows which it is", errBusy, path)
		}
		return nil, errors.Join(fmt.Errorf("lock the machine: %w", err), closeErr)
	}
	return func() { _ = file.Close() }, nil // nothing was written
}
