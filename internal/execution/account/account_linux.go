package account

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// homeSource is the source of a home in memory in the table of mounts. Other mounts are not
// krund's.
const homeSource = "krund-home"

// fileBytes is how much space a file or directory is assumed to need. It bounds the number of
// files, because small ones could fill the memory.
const fileBytes = 4096

// mountHome mounts a file system of size bytes in memory on the directory home.
func mountHome(home string, size int64, uid, gid int) error {
	files := max(size/fileBytes, 16)
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700,uid=%d,gid=%d", size, files, uid, gid)
	if err := unix.Mount(homeSource, home, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount a home in memory (limits.home) on %s: %w", home, err)
	}
	return nil
}

// unmountHome unmounts what mountHome has mounted.
func unmountHome(home string) error {
	for {
		table, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return fmt.Errorf("look for a home in memory: %w", err)
		}
		if !isHomeMount(string(table), home) {
			return nil
		}
		if err := unix.Unmount(home, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount the home in memory %s: %w", home, err)
		}
	}
}

// isHomeMount reports whether mountHome made the topmost mount on home. table is in the form of
// proc_pid_mountinfo(5).
func isHomeMount(table, home string) bool {
	own := false
	for _, m := range sysroot.ParseMounts(table) {
		if m.Point == home {
			own = m.Kind == "tmpfs" && m.Source == homeSource
		}
	}
	return own
}

// objectKinds are the tables of System V objects and the calls that remove one.
var objectKinds = []struct {
	table, id string
	remove    func(id int) error
}{
	{"/proc/sysvipc/shm", "shmid", func(id int) error {
		return control(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
	}},
	{"/proc/sysvipc/sem", "semid", func(id int) error {
		return control(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID)
	}},
	{"/proc/sysvipc/msg", "msqid", func(id int) error {
		return control(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0)
	}},
}

// removeObjects removes the System V objects that a user owns or has created. A kernel may lack
// them.
func removeObjects(uid int) (removed int, err error) {
	var errs []error
	for _, kind := range objectKinds {
		text, err := os.ReadFile(kind.table)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var list []object
		if err == nil {
			list, err = parseObjects(text, kind.id)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", kind.table, err))
		}
		for _, o := range list {
			if o.uid != uid && o.maker != uid {
				continue
			}
			switch err := kind.remove(o.id); {
			case err == nil:
				removed++
			case !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM): // else it was removed meanwhile
				errs = append(errs, fmt.Errorf("%s %d: %w", kind.id, o.id, err))
			}
		}
	}
	return removed, errors.Join(errs...)
}

func control(call uintptr, id, first, second int) error {
	if _, _, errno := unix.Syscall6(call, uintptr(id), uintptr(first), uintptr(second), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// userProcesses returns the living processes that have any of their user numbers set to uid.
func userProcesses(uid int) []int {
	entries, _ := os.ReadDir("/proc") // what can be read is better than nothing
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err == nil && hasUser(text, uid) && !hasEnded(text) {
			found = append(found, pid)
		}
	}
	return found
}

// hasUser looks for uid in the real, effective, saved and file system user number of a process.
// status is the text of proc_pid_status(5).
func hasUser(status []byte, uid int) bool {
	return slices.Contains(statusFields(status, "Uid:"), strconv.Itoa(uid))
}

// hasEnded reports whether the process has ended and only waits to be reaped.
func hasEnded(status []byte) bool {
	state := statusFields(status, "State:")
	return len(state) > 0 && (state[0] == "Z" || state[0] == "X")
}

// statusFields returns the fields of a line.
func statusFields(status []byte, name string) []string {
	var fields []string
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			for f := range bytes.FieldsSeq(rest) {
				fields = append(fields, string(f))
			}
			break
		}
	}
	return fields
}

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
