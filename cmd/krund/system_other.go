//go:build !linux

package main

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"krund/internal/experiment/config"
)

// syncDisks writes all buffered data to the disks, so that it is not written during a run.
func syncDisks() { _ = unix.Sync() } // it cannot fail

// isTerminal reports whether file is a terminal.
func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TIOCGETA)
	return err == nil
}

// terminalWidth is the width of a terminal in columns; 80 if it is unknown.
func terminalWidth(file *os.File) int {
	if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return 80
}

// ready does nothing: there is no service manager to notify.
func ready() {}

// rcVariable is set by the script of rc.d(8) that starts krund at boot, openbsd/krund.rc, for krund
// alone.
const rcVariable = "KRUND_RC"

// startingUnit returns "": there are no units.
func startingUnit() string { return "" }

// startedByBoot reports whether krund was started because this machine is enabled for an
// experiment, by rc.d(8).
func startedByBoot() bool { return os.Getenv(rcVariable) != "" }

// enabling returns the command that enables the experiment in file on this machine, and what it
// does.
func enabling(_, file string) (command, what string) {
	return "rcctl enable krund && rcctl set krund flags " + file,
		"as root: measure with restarts, from the next boot on; see /etc/rc.d/krund"
}

// disableUnit does nothing: rc.d starts krund at each boot, and krund ends at once when nothing is
// outstanding.
func disableUnit(*config.Config, string) func(context.Context) error {
	return func(context.Context) error { return nil }
}
