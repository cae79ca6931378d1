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

// Lock excludes every other krund from the experiment until Release or the end of the process.
type Lock struct {
	file durable.File
}

// LockedError reports which process holds the experiment's lock.
type LockedError struct {
	Dir  string
	PID  int    // 0 if unknown
	Host string // "" when unknown

	// Stranger describes the holder of the lock if it is not krund; "" if it is.
	Stranger string
}

func (e *LockedError) Error() string {
	if e.Stranger != "" {
		return fmt.Sprintf("%s: %s holds the lock of this experiment and is not krund; end it, then start "+
			"krund again", e.Dir, e.Stranger)
	}
	who := "another krund"
	if e.PID > 0 {
		who = fmt.Sprintf("krund (process %d on %s)", e.PID, e.Host)
	}
	return fmt.Sprintf("%s: %s is running this experiment; wait for it or stop it; `krunctl status` shows "+
		"its progress", e.Dir, who)
}

// Is makes a LockedError a durable.ErrLocked.
func (e *LockedError) Is(target error) bool { return target == durable.ErrLocked }

// Lock locks the experiment for the process pid on host; both are only used for the message that a
// second krund prints. Readers need no lock.
//
// The error is a *LockedError if the lock is held. It wraps syscall.EROFS or fs.ErrPermission if
// the directory is not writable, and errors.ErrUnsupported on a file system without locks: krund
// must not run on any of these.
func (f Directory) Lock(pid int, host string) (*Lock, error) {
	return f.lock(pid, host, durable.File.TryLock)
}

// LockWait is Lock, but waits until the experiment is free.
func (f Directory) LockWait(pid int, host string) (*Lock, error) {
	return f.lock(pid, host, durable.File.WaitLock)
}

func (f Directory) lock(pid int, host string, take func(durable.File) error) (*Lock, error) {
	file, err := takeLock(f.fsys, f.lockFile(), f.lastPID, take)
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, f.holder()
	case err != nil:
		return nil, f.explainLock(err)
	}
	_ = f.writeHolder(formatHolder(pid, host)) // only for messages, so a full disk is no reason to fail
	return &Lock{file: file}, nil
}

// lockTries bounds how often takeLock starts over because the file was replaced while it waited for
// the lock.
const lockTries = 100

// takeLock opens the file at path and locks it. Any user who can open the file can lock it, so only
// the owner may: a file that others can open, as created by earlier versions, is replaced unless a
// krund holds the lock. last returns the process that recorded that it took the lock last.
func takeLock(
	fsys durable.FS, path string, last func() int, take func(durable.File) error,
) (durable.File, error) {
	replaced := false // if a new file is accessible to others, the file system has no modes
	for range lockTries {
		file, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE, ownerOnly)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		forOthers := info.Mode().Perm()&^ownerOnly != 0 && !replaced
		switch err := take(file); {
		case errors.Is(err, durable.ErrLocked) && forOthers && foreignHolder(fsys, info, last()) != "":
		case err != nil:
			return nil, errors.Join(err, file.Close())
		case !forOthers && isAt(fsys, path, info):
			return file, nil
		}
		if forOthers {
			err, replaced = replaceLock(fsys, path), true
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s is replaced repeatedly", path)
}

// ownerOnly is the mode of lock files.
const ownerOnly fs.FileMode = 0o600

// replaceLock replaces a lock file with a new one. The caller holds the lock of the old file, or
// only processes that do not count hold it.
func replaceLock(fsys durable.FS, path string) error {
	return durable.WriteFile(fsys, path, nil, ownerOnly)
}

// isAt reports whether info describes the file that is currently at path. It returns true if the
// file system cannot tell.
func isAt(fsys durable.FS, path string, info fs.FileInfo) bool {
	now, err := fsys.Lstat(path)
	_, known := info.Sys().(*syscall.Stat_t)
	return err == nil && (!known || os.SameFile(info, now))
}

// File returns the open lock file, or nil in a simulation. A process that inherits it holds the
// lock.
func (l *Lock) File() *os.File { return durable.OSFile(l.file) }

// Release releases the lock. The lock file stays, because removing it would let two processes lock
// two different files of that name.
func (l *Lock) Release() error { return l.file.Close() }

func (f Directory) explainLock(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("lock %s: the file system is read-only; krund must write there; copy the "+
			"experiment elsewhere: %w", f.dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("lock %s: no permission to write there; run krund as the owner of the directory "+
			"or as root: %w", f.dir, err)
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("lock %s: the file system does not support locks, so two krund could run at "+
			"once; copy the experiment to a local disk: %w", f.dir, err)
	}
	return fmt.Errorf("lock %s: %w", f.dir, err)
}

// holderBytes is the fixed size of the holder text, so that a shorter holder leaves no remains of a
// longer one.
const holderBytes = 256

// formatHolder returns the padded line "PID HOST".
func formatHolder(pid int, host string) []byte {
	text := fmt.Sprintf("%d %s", pid, host)
	if len(text) > holderBytes-1 {
		text = text[:holderBytes-1]
	}
	return fmt.Appendf(nil, "%-*s\n", holderBytes-1, text)
}

// holder describes the holder of the lock.
func (f Directory) holder() *LockedError {
	e := &LockedError{Dir: f.dir}
	e.PID, e.Host = f.LastHolder()
	if info, err := f.fsys.Lstat(f.lockFile()); err == nil {
		e.Stranger = foreignHolder(f.fsys, info, e.PID)
	}
	return e
}

// writeHolder records the holder of the lock in a file that everyone can read. It is written after
// the lock is taken and never synced, so it may be missing or name an earlier holder.
func (f Directory) writeHolder(text []byte) error {
	const othersRead = 0o644
	file, err := f.fsys.OpenFile(f.holderFile(), os.O_WRONLY|os.O_CREATE, othersRead)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	return errors.Join(err, file.Close())
}

// parseHolder is the inverse of formatHolder; the PID is 0 for any other text. The host name is
// printed and must therefore be one word of plain characters.
func parseHolder(text string) (pid int, host string) {
	number, host, ok := strings.Cut(strings.TrimSpace(text), " ")
	pid, err := strconv.Atoi(number)
	odd := strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' })
	if !ok || err != nil || pid < 1 || host == "" || odd {
		return 0, ""
	}
	return pid, host
}

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
