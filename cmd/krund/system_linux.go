package main

import (
	"context"
	"os"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"krund/internal/autostart"
	"krund/internal/config"
)

// syncDisks writes everything that is still in memory to the disks, so that it is not written
// during a run.
func syncDisks() { unix.Sync() }

// isTerminal says whether a person looks at file.
func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// ready tells systemd that krund is up (Type=notify). Without systemd it does nothing.
// a failed notification shows in systemctl status
func ready() { _, _ = daemon.SdNotify(true, daemon.SdNotifyReady) }

// disableUnit returns what makes the next boots ordinary ones: the experiment's unit is disabled,
// if there is one.
func disableUnit(cfg *config.Config, mode string) func(context.Context) error {
	return func(ctx context.Context) error {
		if mode != config.RebootHardware {
			return nil
		}
		return autostart.Disable(ctx, cfg.Experiment.Name)
	}
}
