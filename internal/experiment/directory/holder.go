package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/durable"
)

// LastHolder returns the process that last locked the experiment, whether or not it still holds the
// lock, or 0 if unknown. It only reads: trying the lock would briefly block a krund that starts.
func (f Directory) LastHolder() (pid int, host string) {
	// earlier versions wrote it into the lock file
	for _, name := range []string{f.holderFile(), f.lockFile()} {
		file, err := f.fsys.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			continue
		}
		text := make([]byte, holderBytes)
		n, _ := file.ReadAt(text, 0) // short or unreadable: unknown
		if pid, host = parseHolder(string(text[:n])); file.Close() == nil && pid > 0 {
			return pid, host
		}
	}
	return 0, ""
}

// HoldsLock reports whether the process pid of this machine may hold a lock: it is alive and, where
// the kernel lists locks, holds one. A reused PID is therefore not mistaken for krund. In doubt,
// the result is true.
func HoldsLock(fsys durable.FS, pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) { // signal 0 only tests for existence
		return false
	}
	list, err := durable.ReadFile(fsys, "/proc/locks")
	return err != nil || listsLock(string(list), pid)
}

// listsLock reports whether /proc/locks lists a flock(2) lock of the process.
func listsLock(list string, pid int) bool {
	return slices.ContainsFunc(parseLocks(list), func(l flock) bool { return l.pid == pid })
}

// A flock is a held flock(2) lock.
type flock struct {
	pid   int
	inode string
}

// parseLocks parses /proc/locks. Its lines look like "1: FLOCK  ADVISORY  WRITE 4711 08:01:1312 0
// EOF"; "->" after the number marks a blocked request.
func parseLocks(list string) []flock {
	var locks []flock
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" {
			continue
		}
		pid, err := strconv.Atoi(fields[4])
		if err == nil && pid > 0 {
			locks = append(locks, flock{pid, fields[5][strings.LastIndexByte(fields[5], ':')+1:]})
		}
	}
	return locks
}

func (f Directory) lastPID() int {
	pid, _ := f.LastHolder()
	return pid
}

// foreignHolder describes the process that holds the lock of a file if it is not krund. It returns
// "" if the holder is krund, if it is the process last, which recorded that it took the lock, or if
// the kernel does not report it. The process that took the lock may have ended while another
// process holds its descriptor.
//
// The kernel's list reports the inode number but not reliably the file system, and any user can
// have a file with that number. Therefore only processes that have this file open count.
func foreignHolder(fsys durable.FS, file fs.FileInfo, last int) string {
	stat, ok := file.Sys().(*syscall.Stat_t)
	if !ok || last > 0 && isHolder(last, file) && mayHold(last, stat.Uid) {
		return ""
	}
	list, err := durable.ReadFile(fsys, "/proc/locks")
	if err != nil {
		return ""
	}
	for _, l := range parseLocks(string(list)) {
		if l.inode != strconv.FormatUint(stat.Ino, 10) {
			continue
		}
		if errors.Is(syscall.Kill(l.pid, 0), syscall.ESRCH) {
			if inheritor := findHolder(file); inheritor > 0 {
				return fmt.Sprintf("%s, which inherited it from process %d, which has ended,",
					describe(inheritor),
					l.pid)
			}
		} else if isHolder(l.pid, file) && !(mayHold(l.pid, stat.Uid) && isKrund(l.pid)) {
			return describe(l.pid)
		}
	}
	return ""
}

func describe(pid int) string {
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // "" when it has just ended
	return fmt.Sprintf("process %d (%.100q)", pid, program)
}

// isHolder reports whether a process has a descriptor of the file with the lock. It cannot inspect
// processes of other users.
func isHolder(pid int, file fs.FileInfo) bool {
	dir := fmt.Sprintf("/proc/%d/", pid)
	list, _ := os.ReadDir(dir + "fdinfo") // empty if it has ended
	return slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		text, err := os.ReadFile(dir + "fdinfo/" + e.Name())
		if err != nil || !strings.Contains(string(text), "\nlock:") {
			return false
		}
		info, err := os.Stat(dir + "fd/" + e.Name())
		return err == nil && os.SameFile(info, file)
	})
}

// findHolder returns a process that has a descriptor of the file with the lock, or 0.
func findHolder(file fs.FileInfo) int {
	list, _ := os.ReadDir("/proc")
	for _, e := range list {
		if pid, err := strconv.Atoi(e.Name()); err == nil && isHolder(pid, file) {
			return pid
		}
	}
	return 0
}

// Measuring returns the processes of krund that run an experiment on this machine, other than this
// process; none on systems without /proc.
func Measuring() (pids []int) {
	list, _ := os.ReadDir("/proc")
	for _, e := range list {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || programOf(pid) != "krund" {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty if it has ended
		if argv := strings.Split(string(text), "\x00"); len(argv) > 1 && argv[1] == "run" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// mayHold reports whether a process runs as root or as the owner of the lock file, like krund.
func mayHold(pid int, owner uint32) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, found := strings.Cut(string(text), "\nUid:")
	line, _, _ := strings.Cut(rest, "\n")
	mine := func(uid string) bool { return uid == "0" || uid == strconv.FormatUint(uint64(owner), 10) }
	other := func(uid string) bool { return !mine(uid) }
	return err == nil && found && !slices.ContainsFunc(strings.Fields(line), other)
}

// isKrund reports whether a process runs a program that locks experiments.
func isKrund(pid int) bool { return slices.Contains([]string{"krund", "krunctl"}, programOf(pid)) }

// programOf returns the name of the file that a process executes; "" if it is unknown.
func programOf(pid int) string {
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSuffix(program, " (deleted)"))
}

// GuardName is the name, in lists of processes, of the guard, which restores the machine when krund
// is killed. It may hold krund's locks.
const GuardName = "krund-guard"

// IsGuard reports whether a process of this machine is a guard. It returns false if the process has
// ended, and on systems without /proc.
func IsGuard(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(text), GuardName+"\x00")
}
