package main

import (
	"context"
	"os"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"krund/internal/boot/autostart"
	"krund/internal/experiment/config"
	"krund/internal/machine/sysroot"
)

// syncDisks writes all buffered data to the disks, so that it is not written during a run.
func syncDisks() { unix.Sync() }

// isTerminal reports whether file is a terminal.
func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// terminalWidth is the width of a terminal in columns; 80 if it is unknown.
func terminalWidth(file *os.File) int {
	if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return 80
}

// ready notifies systemd that krund is up (Type=notify). Without systemd it does nothing. A failed
// notification is visible in systemctl status.
func ready() { _, _ = daemon.SdNotify(true, daemon.SdNotifyReady) }

// startingUnit returns the name of the unit that started krund; "" if a person did, who may have
// its variable, too.
func startingUnit() string {
	if unit := os.Getenv(unitVariable); autostart.InUnit(unit, sysroot.New("/")) {
		return unit
	}
	return ""
}

// startedByBoot reports whether krund was started because this machine is enabled for an
// experiment, at boot or by `krunctl enable --start`.
func startedByBoot() bool { return startingUnit() != "" }

// enabling returns the command that enables the experiment in file on this machine, and what it
// does. krunctl is what a person types for that program.
func enabling(krunctl, file string) (command, what string) {
	what = "measure with restarts at every boot; it says when the first one comes"
	if !autostart.HasSystemd(sysroot.New("/")) {
		what = "on a machine that systemd has booted, unlike this one: " + what
	}
	command = krunctl + " enable " + file
	if os.Geteuid() != 0 {
		command = "sudo " + command
	}
	return command, what
}

// disableUnit returns a function that disables the experiment's unit, if there is one, so that the
// next boots are ordinary ones.
func disableUnit(cfg *config.Config, mode string) func(context.Context) error {
	return func(ctx context.Context) error {
		if unit := unitToDisable(startingUnit(), mode, cfg.Experiment.Name); unit != "" {
			return autostart.DisableUnit(ctx, unit)
		}
		return nil
	}
}
