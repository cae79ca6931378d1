//go:build !linux

package boot

import (
	"context"
	"log/slog"

	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
)

// NewRebooter returns the method of systems without systemd: the reboot(8) program, which runs the
// shutdown scripts.
func NewRebooter(_ sysroot.Root, log *slog.Logger) Rebooter {
	return Rebooter{Log: log, Methods: []RebootMethod{{"reboot(8)", func(ctx context.Context) error {
		_, err := command.Run(ctx, command.Cmd{Argv: []string{"/sbin/reboot"}})
		return err
	}}}}
}

// ReadOffset is nil: the system has no clock that also counts the time of suspension.
var ReadOffset func() (ClockOffset, error)

// KeepAwake does nothing: there is no logind.
func KeepAwake(context.Context, *slog.Logger) (release func()) { return func() {} }
