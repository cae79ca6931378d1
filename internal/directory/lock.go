package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/durable"
)

// Lock keeps every other krund away from the experiment until Release, or
// until the process ends in whatever way.
type Lock struct {
	file durable.File
}

// LockedError says who works on the experiment.
type LockedError struct {
	Dir  string
	PID  int    // 0 when unknown
	Host string // "" when unknown

	// Stranger describes the process that has the lock and is not krund; "" for krund.
	Stranger string
}

func (e *LockedError) Error() string {
	if e.Stranger != "" {
		return fmt.Sprintf("%s: %s holds the lock of this experiment, and is not krund; end it, then start krund again", e.Dir, e.Stranger)
	}
	who := "another krund"
	if e.PID > 0 {
		who = fmt.Sprintf("krund with process number %d on %s", e.PID, e.Host)
	}
	return fmt.Sprintf("%s: %s works on this experiment; wait for it or stop it, `krunctl status` shows how far it is", e.Dir, who)
}

// Is makes a LockedError a durable.ErrLocked.
func (e *LockedError) Is(target error) bool { return target == durable.ErrLocked }

// Lock takes the experiment for the process pid on host; both are for the
// message that the second krund prints. Those who only read need no lock.
//
// The error is a *LockedError when it is taken, wraps syscall.EROFS or
// fs.ErrPermission where the directory cannot be written, and
// errors.ErrUnsupported on a file system without locks: krund must not run on
// any of them.
func (f Directory) Lock(pid int, host string) (*Lock, error) { return f.lock(pid, host, durable.Lock) }

// LockWait is Lock that waits until the experiment is free.
func (f Directory) LockWait(pid int, host string) (*Lock, error) {
	return f.lock(pid, host, durable.LockWait)
}

func (f Directory) lock(pid int, host string, take func(durable.File) error) (*Lock, error) {
	file, err := takeLock(f.fsys, f.lockFile(), f.lastPID, take)
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, f.holder()
	case err != nil:
		return nil, f.explainLock(err)
	}
	_ = f.writeHolder(formatHolder(pid, host)) // a help for messages: a full disk keeps nobody away
	return &Lock{file: file}, nil
}

// lockTries bounds how often takeLock begins anew because the file was
// replaced while it waited for the lock.
const lockTries = 100

// takeLock opens the file at path and locks it. Who can open the file can lock
// it, so nobody else may: a file that others can open, as earlier versions made
// it, is replaced, unless a krund has the lock. last returns the process that
// took it last, as that process has noted.
func takeLock(
	fsys durable.FS, path string, last func() int, take func(durable.File) error,
) (durable.File, error) {
	replaced := false // a new file that shows rights for others is of a file system without modes
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
		case errors.Is(err, durable.ErrLocked) && forOthers && stranger(fsys, info, last()) != "":
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
	return nil, fmt.Errorf("%s is replaced again and again", path)
}

// ownerOnly are the rights of lock files.
const ownerOnly fs.FileMode = 0o600

// replaceLock puts a new file in the place of a lock file. Its caller has the
// lock of the old one, or nobody has who counts.
func replaceLock(fsys durable.FS, path string) error {
	return durable.WriteFile(fsys, path, nil, ownerOnly)
}

// isAt reports whether the open file that info describes is still the one at
// path. A file system that cannot tell is believed.
func isAt(fsys durable.FS, path string, info fs.FileInfo) bool {
	now, err := fsys.Lstat(path)
	_, known := info.Sys().(*syscall.Stat_t)
	return err == nil && (!known || os.SameFile(info, now))
}

// File is the open file with the lock; nil in a simulation. A process that inherits it has the lock.
func (l *Lock) File() *os.File { return durable.OSFile(l.file) }

// Release gives the experiment free. The lock's file stays: removing it would
// let two others lock two different files of that name.
func (l *Lock) Release() error { return l.file.Close() }

func (f Directory) explainLock(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("lock %s: the file system is read-only; krund must write there, copy the experiment to another place: %w", f.dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("lock %s: no right to write there; run krund as the owner of the directory or as root: %w", f.dir, err)
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("lock %s: the file system has no locks, so two krund could not be told apart; copy the experiment to a local disk: %w", f.dir, err)
	}
	return fmt.Errorf("lock %s: %w", f.dir, err)
}

// holderBytes is the size of the lock file's text: always the same, so that a
// shorter holder leaves nothing of a longer one.
const holderBytes = 256

// formatHolder is one line "PID HOST", padded.
func formatHolder(pid int, host string) []byte {
	text := fmt.Sprintf("%d %s", pid, host)
	if len(text) > holderBytes-1 {
		text = text[:holderBytes-1]
	}
	return fmt.Appendf(nil, "%-*s\n", holderBytes-1, text)
}

// holder describes who holds the lock.
func (f Directory) holder() *LockedError {
	e := &LockedError{Dir: f.dir}
	e.PID, e.Host = f.LastHolder()
	if info, err := f.fsys.Lstat(f.lockFile()); err == nil {
		e.Stranger = stranger(f.fsys, info, e.PID)
	}
	return e
}

// writeHolder notes who holds the lock, for everybody to read. It is written
// after the lock was taken, and never synced: it may be missing or that of an
// earlier holder, and then at least the directory is right.
func (f Directory) writeHolder(text []byte) error {
	const othersRead = 0o644
	file, err := f.fsys.OpenFile(f.holderFile(), os.O_WRONLY|os.O_CREATE, othersRead)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	return errors.Join(err, file.Close())
}

// parseHolder is formatHolder's inverse; 0 for any other text. A host's name is one word of plain
// characters, since it is printed.
func parseHolder(text string) (pid int, host string) {
	number, host, ok := strings.Cut(strings.TrimSpace(text), " ")
	pid, err := strconv.Atoi(number)
	odd := strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' })
	if !ok || err != nil || pid < 1 || host == "" || odd {
		return 0, ""
	}
	return pid, host
}
