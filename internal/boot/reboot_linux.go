package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/login1"
	"golang.org/x/sys/unix"

	"krund/internal/command"
)

// systemctlTimeout bounds how long systemctl may take to accept the job. The shutdown follows
// later.
const systemctlTimeout = time.Minute

// logindPatience is how long logind may take to announce the shutdown. If an inhibitor delays the
// shutdown, logind announces it at once and waits afterwards (InhibitDelayMaxSec). If an inhibitor
// blocks it, logind announces nothing.
const logindPatience = 10 * time.Second

// NewRebooter returns the methods of Linux: logind over D-Bus (org.freedesktop.login1(5), Reboot
// without interaction), systemctl reboot, and reboot(2) after sync(2).
func NewRebooter(log *slog.Logger) Rebooter {
	return Rebooter{Log: log, Methods: []RebootMethod{
		{"logind", logind},
		{"systemctl", func(ctx context.Context) error {
			_, err := command.Run(ctx, command.Cmd{Argv: []string{"systemctl", "reboot"},
				Timeout: systemctlTimeout})
			return err
		}},
		{"reboot(2)", func(context.Context) error {
			if os.Geteuid() != 0 {
				return errors.New("only root may reboot")
			}
			unix.Sync()
			return unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
		}},
	}}
}

// logind requests the reboot. It relies on the announcement of the shutdown, because the library
// drops logind's answer to the request.
func logind(ctx context.Context) error {
	conn, err := login1.New()
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	announced := conn.Subscribe("PrepareForShutdown")
	conn.Reboot(false)
	patience := time.NewTimer(logindPatience)
	defer patience.Stop()
	for {
		select {
		case signal := <-announced:
			if signal == nil {
				return errors.New("the connection broke")
			}
			if underWay(signal.Body) {
				return nil
			}
		case <-patience.C:
			return errors.New("no shutdown was announced; an inhibitor may be blocking it " +
				"(`systemd-inhibit --list`)")
		case <-ctx.Done(): // the shutdown itself may have ended ctx
			select {
			case signal := <-announced:
				if signal != nil && underWay(signal.Body) {
					return nil
				}
			default:
			}
			return ctx.Err()
		}
	}
}

// underWay reports whether the body of PrepareForShutdown announces the start of a shutdown.
func underWay(body []any) bool { return len(body) == 1 && body[0] == true }
