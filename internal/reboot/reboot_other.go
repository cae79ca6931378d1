//go:build !linux

package reboot

import (
	"context"
	"log/slog"

	"krund/internal/command"
)

// New returns the ways of systems without systemd: the reboot(8) program, which runs the shutdown scripts.
func New(log *slog.Logger) Machine {
	return Machine{Log: log, Ways: []Way{{"reboot(8)", func(ctx context.Context) error {
		_, err := command.Run(ctx, command.Cmd{Argv: []string{"/sbin/reboot"}})
		return err
	}}}}
}
