package main

import (
	"context"
	"os"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"krund/internal/autostart"
	"krund/internal/config"
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

// disableUnit returns a function that disables the experiment's unit, if there is one, so that the
// next boots are ordinary ones.
func disableUnit(cfg *config.Config, mode string) func(context.Context) error {
	return func(ctx context.Context) error {
		if !config.Restarts(mode) {
			return nil
		}
		return autostart.Disable(ctx, cfg.Experiment.Name)
	}
}
