package main

import (
	"krund/internal/config"
	"krund/internal/durable"
	"krund/internal/folder"
)

// lockMachine takes the machine for this krund when it is one that takes the machine over: with reboots, or with the account that it makes anew for
// each execution, there can be only one at a time, whatever its experiment. Other experiments may run beside each other. The end of the process
// releases the lock, too.
func lockMachine(cfg *config.Config, dir, reboot string, root bool,
	runtimeDirs ...string) (release func(), err error) {
	if !root || reboot != config.RebootHardware && cfg.Experiment.Account != config.AccountFresh {
		return func() {}, nil
	}
	lock, err := folder.LockMachine(durable.OS(), dir, runtimeDirs...)
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Release() }, nil // nothing was written
}
