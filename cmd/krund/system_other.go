//go:build !linux

package main

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"krund/internal/config"
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

// disableUnit does nothing: rc.d starts krund at each boot, and krund ends at once when nothing is
// outstanding.
func disableUnit(*config.Config, string) func(context.Context) error {
	return func(context.Context) error { return nil }
}
