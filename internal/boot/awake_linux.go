package boot

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/login1"
	"golang.org/x/sys/unix"
)

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
