package account

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// accountLocks are the lock files of useradd and userdel (shadow's commonio.c). Each holds the
// number of its process.
var accountLocks = []string{
	"/etc/passwd.lock", "/etc/shadow.lock", "/etc/group.lock", "/etc/gshadow.lock", "/etc/subuid.lock",
	"/etc/subgid.lock",
}

// removeStaleLocks removes locks on the user database that a power failure left behind. The tools
// recognize a stale lock only when no process has its number. A machine that boots again and again
// gives the same numbers to its services, so such a lock could last forever. A process that began
// after the lock was written cannot be its owner.
func (m maker) removeStaleLocks() error {
	for _, name := range accountLocks {
		name = m.path(name)
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return ignoreGone(err)
		}
		pid, err := strconv.Atoi(string(bytes.Trim(text, " \n\x00")))
		if err != nil || pid <= 0 {
			continue // the tools handle it
		}
		start, err := startTicks(pid)
		if err != nil || !startedAfter(start, info.ModTime()) {
			continue
		}
		if err := os.Remove(name); ignoreGone(err) != nil {
			return fmt.Errorf("remove a stale lock: %w", err)
		}
	}
	return nil
}

// ticksPerSecond is the unit of process start times: USER_HZ, 100 on every machine krund runs on.
const ticksPerSecond = 100

// lockSlack is the error of the clocks compared: coarse time stamps and the tick.
const lockSlack = 2 * time.Second

// startTicks returns when a process began, in clock ticks after boot: field 22 of proc_pid_stat(5).
func startTicks(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	s, err := sysroot.ParseProcessStat(string(text))
	return int64(s.Start), err
}

// startedAfter reports whether a process with this start time began clearly after the time t.
func startedAfter(ticks int64, t time.Time) bool {
	var real, boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &real) != nil ||
		unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return false
	}
	began := real.Nano() - boot.Nano() + ticks*int64(time.Second)/ticksPerSecond
	return began > t.Add(lockSlack).UnixNano()
}

// ignoreGone drops the error of a file that was removed meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
