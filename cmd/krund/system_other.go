//go:build !linux

package main

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"krund/internal/config"
)

// syncDisks writes everything that is still in memory to the disks, so that it is not written
// during a run.
func syncDisks() { _ = unix.Sync() } // it cannot fail

// isTerminal says whether a person looks at file.
func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TIOCGETA)
	return err == nil
}

// ready has nobody to tell.
func ready() {}

// disableUnit has nothing to undo: rc.d starts krund at each boot, and krund ends at once when
// nothing is outstanding.
func disableUnit(*config.Config, string) func(context.Context) error {
	return func(context.Context) error { return nil }
}
