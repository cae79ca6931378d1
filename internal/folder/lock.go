package folder

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
}

func (e *LockedError) Error() string {
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
// fs.ErrPermission where the folder cannot be written, and
// errors.ErrUnsupported on a file system without locks: krund must not run on
// any of them.
func (f Folder) Lock(pid int, host string) (*Lock, error) { return f.lock(pid, host, durable.Lock) }

// LockWait is Lock that waits until the experiment is free.
func (f Folder) LockWait(pid int, host string) (*Lock, error) {
	return f.lock(pid, host, durable.LockWait)
}

func (f Folder) lock(pid int, host string, take func(durable.File) error) (*Lock, error) {
	const othersRead = 0o644
	file, err := f.fsys.OpenFile(f.lockFile(), os.O_RDWR|os.O_CREATE, othersRead)
	if err != nil {
		return nil, f.explainLock(err)
	}
	switch err := take(file); {
	case errors.Is(err, durable.ErrLocked):
		return nil, errors.Join(f.holder(file), file.Close())
	case err != nil:
		return nil, errors.Join(f.explainLock(err), file.Close())
	}
	if _, err := file.WriteAt(formatHolder(pid, host), 0); err != nil {
		return nil, errors.Join(f.explainLock(err), file.Close())
	}
	return &Lock{file: file}, nil
}

// Release gives the experiment free. The lock's file stays: removing it would
// let two others lock two different files of that name.
func (l *Lock) Release() error { return l.file.Close() }

func (f Folder) explainLock(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("lock %s: the file system is read-only; krund must write there, copy the experiment to another place: %w", f.dir, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("lock %s: no right to write there; run krund as the owner of the folder or as root: %w", f.dir, err)
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

// holder reads who holds the lock. The text is written after the lock was
// taken, and never synced: it may be missing or that of an earlier holder, and
// then at least the folder is right.
func (f Folder) holder(file durable.File) *LockedError {
	e := &LockedError{Dir: f.dir}
	text := make([]byte, holderBytes)
	n, _ := file.ReadAt(text, 0) // short or unreadable: unknown
	e.PID, e.Host = parseHolder(string(text[:n]))
	return e
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
