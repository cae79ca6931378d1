package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/login1"
	"golang.org/x/sys/unix"

	"krund/internal/boot/autostart"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
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
//
// By kexec, systemd stops the machine in order and then starts the kernel that krund has loaded:
// its own (kexec_file_load(2)). root are the machine's files.
func NewRebooter(root sysroot.Root, log *slog.Logger) Rebooter {
	return Rebooter{Log: log, Faster: map[string]RebootMethod{
		config.RebootKexec: {"kexec", func(ctx context.Context) error { return kexec(ctx, root) }},
		config.RebootSoft:  {"soft-reboot", func(ctx context.Context) error { return softReboot(ctx, root) }},
	}, Methods: []RebootMethod{
		{"logind", logind},
		{"systemctl", func(ctx context.Context) error {
			return systemctl(ctx, "reboot")
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

func systemctl(ctx context.Context, verb string) error {
	_, err := command.Run(ctx, command.Cmd{Argv: []string{"systemctl", verb}, Timeout: systemctlTimeout})
	return err
}

// begin asks systemd for a restart. When the restart begins, systemd ends the processes of krund's
// unit, systemctl among them, perhaps before it can answer: then the state of the system
// shows that the restart is under way.
func begin(ctx context.Context, verb string) error {
	err := systemctl(ctx, verb)
	if err == nil {
		return nil
	}
	state, _ := command.Run(context.WithoutCancel(ctx), command.Cmd{
		Argv: []string{"systemctl", "is-system-running"}, Timeout: systemctlTimeout})
	if strings.TrimSpace(state) == "stopping" {
		return nil
	}
	return err
}

// kexec loads the running kernel with its command line and asks systemd to restart the machine with
// it. When systemd refuses, the kernel is unloaded again: else an ordinary reboot would start it.
func kexec(ctx context.Context, root sysroot.Root) error {
	k, err := autostart.RunningKernel(root)
	if err != nil {
		return err
	}
	image, err := os.Open(root.Path(k.Image))
	if err != nil {
		return err
	}
	defer image.Close() //nolint:errcheck // it was only read
	initrd, flags := -1, unix.KEXEC_FILE_NO_INITRAMFS
	if k.Initrd != "" {
		f, err := os.Open(root.Path(k.Initrd))
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		initrd, flags = int(f.Fd()), 0
	}
	if err := unix.KexecFileLoad(int(image.Fd()), initrd, k.Cmdline, flags); err != nil {
		return fmt.Errorf("load %s: %w; a locked-down kernel (Secure Boot) accepts only signed images",
			k.Image, err)
	}
	if err := begin(ctx, "kexec"); err != nil {
		return errors.Join(err, unix.KexecFileLoad(-1, -1, "", unix.KEXEC_FILE_UNLOAD))
	}
	return nil
}

// softReboot counts a soft reboot in the directory of runtime files, which outlasts it, and asks
// for it.
func softReboot(ctx context.Context, root sysroot.Root) error {
	before := autostart.FindBoot(root, autostart.SoftReboots(ctx, root)).Soft
	if before >= autostart.MaxSoft {
		return fmt.Errorf("this kernel has seen %d soft reboots", before)
	}
	file, err := directory.RuntimeFile(durable.OS(), autostart.SoftCount, directory.RuntimeDirs()...)
	if err != nil {
		return err
	}
	if err := writeCount(file, before+1); err != nil {
		return err
	}
	if err := begin(ctx, "soft-reboot"); err != nil {
		return errors.Join(err, writeCount(file, before))
	}
	return nil
}

func writeCount(file string, n int) error {
	return durable.WriteFile(durable.OS(), file, []byte(strconv.Itoa(n)+"\n"), 0o600)
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

// ReadOffset reads CLOCK_BOOTTIME between two readings of CLOCK_MONOTONIC, several times, and
// returns the narrowest interval.
func ReadOffset() (ClockOffset, error) {
	const readings = 5
	var best ClockOffset
	for i := range readings {
		var stamps [3]time.Duration
		for j, clock := range []int32{unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME, unix.CLOCK_MONOTONIC} {
			var ts unix.Timespec
			if err := unix.ClockGettime(clock, &ts); err != nil {
				return ClockOffset{}, fmt.Errorf("read clock %d: %w", clock, err)
			}
			stamps[j] = time.Duration(ts.Nano())
		}
		o := ClockOffset{stamps[1] - stamps[2], stamps[1] - stamps[0]}
		if i == 0 || o.Most-o.Least < best.Most-best.Least {
			best = o
		}
	}
	return best, nil
}

// lockPatience is how long logind may take to grant a lock.
const lockPatience = 5 * time.Second

// KeepAwake takes logind's lock against sleep, idle actions and shutdown
// (org.freedesktop.login1(5), Inhibit, mode "block"). release ends it; it must be called before
// krund reboots the machine. A system without logind, or that refuses the lock, only gets a line in
// the log.
func KeepAwake(ctx context.Context, log *slog.Logger) (release func()) {
	lock := make(chan *os.File, 1)
	given := make(chan struct{}) // closed when the lock is no longer wanted
	go func() {
		file, err := inhibit()
		if err != nil {
			log.Debug("no lock against sleep", "error", err)
		}
		select {
		case <-given:
			_ = file.Close() // granted too late; nil without a lock
		case lock <- file:
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	select {
	case file := <-lock:
		return func() { _ = file.Close() }
	case <-ctx.Done():
		close(given)
		log.Debug("no lock against sleep: logind did not answer")
		return func() {}
	}
}

// inhibit returns the file that holds the lock as long as it is open.
func inhibit() (*os.File, error) {
	conn, err := login1.New()
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	file, err := conn.Inhibit("sleep:idle:shutdown", "krund", "a process execution is measured", "block")
	if err != nil {
		return nil, fmt.Errorf("inhibit: %w", err)
	}
	unix.CloseOnExec(int(file.Fd()))
	return file, nil
}
