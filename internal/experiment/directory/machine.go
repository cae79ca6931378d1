package directory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"krund/internal/durable"
)

// ErrBusy is the error if another krund is running on this machine.
var ErrBusy = errors.New("another krund")

// A GuardError reports that the guard of a killed krund holds the machine's lock until it has
// restored the machine.
type GuardError struct {
	PID int    // of the guard
	For string // the directory of its experiment
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("the guard of a killed krund, process %d, is restoring this machine after %s; "+
		"start again when it has ended", e.PID, e.For)
}

// RuntimeDirs returns the directories that may exist for files that last until the next boot.
func RuntimeDirs() []string { return []string{"/run", "/var/run"} }

// runtimeDir creates krund's directory for files that last until the next boot, in the
// first existing directory of dirs. Only its owner can enter it.
func runtimeDir(fsys durable.FS, dirs []string) (string, error) {
	missing := errors.New("no directory was named")
	for _, parent := range dirs {
		if _, err := fsys.Lstat(parent); err != nil {
			missing = err
			continue
		}
		dir := filepath.Join(parent, "krund")
		if err := fsys.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		info, err := fsys.Lstat(dir)
		if err != nil {
			return "", err
		}
		owner, known := ownerOf(info)
		if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || known && owner != os.Geteuid() {
			return "", fmt.Errorf("%s must be a directory that only its owner, user %d, can enter; remove it",
				dir, os.Geteuid())
		}
		return dir, nil
	}
	return "", fmt.Errorf("find a directory for runtime files: %w", missing)
}

// RuntimeFile returns the path of a file of krund that lasts until the kernel restarts, in the
// first existing directory of dirs.
func RuntimeFile(fsys durable.FS, name string, dirs ...string) (string, error) {
	place, err := runtimeDir(fsys, dirs)
	return filepath.Join(place, name), err
}

// Spare returns the path of the copy of the journal (control.Journal.Spare) of the experiment in
// dir, in the first existing directory of dirs, or "" if there is none.
func Spare(fsys durable.FS, dir string, dirs ...string) string {
	place, err := runtimeDir(fsys, dirs)
	if err != nil {
		return ""
	}
	if dir, err = Absolute(dir); err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(place, "journal-"+hex.EncodeToString(sum[:8]))
}

// LockMachine locks the machine, in the first existing directory of dirs, for a krund that must be
// the only one: one with reboots, or one that creates an account for each execution. what is the
// experiment's directory, for the message that a second krund prints. The lock is released when the
// process ends, unless another process inherited Lock.File. The error is ErrBusy if another krund
// holds the lock, and a *GuardError if a guard does.
func LockMachine(fsys durable.FS, what string, dirs ...string) (*Lock, error) {
	place, err := runtimeDir(fsys, dirs)
	if err != nil {
		return nil, fmt.Errorf("lock the machine: %w", err)
	}
	path := filepath.Join(place, "lock")
	last := func() int { pid, _ := machineHolder(fsys, path); return pid }
	file, err := takeLock(fsys, path, last, durable.File.TryLock)
	if errors.Is(err, durable.ErrLocked) {
		return nil, busy(fsys, path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the machine: %w", err)
	}
	_, _ = file.WriteAt(formatHolder(os.Getpid(), what), 0) // only for messages, as in Directory.lock
	return &Lock{file: file}, nil
}

// busy describes the holder of the machine's lock.
func busy(fsys durable.FS, path string) error {
	pid, who := machineHolder(fsys, path)
	if info, err := fsys.Lstat(path); err == nil {
		if !isHolder(pid, info) {
			if inheritor := findHolder(info); IsGuard(inheritor) && isKrund(inheritor) &&
				mayHold(inheritor, 0) {
				return &GuardError{PID: inheritor, For: who}
			}
		}
		if other := foreignHolder(fsys, info, pid); other != "" {
			return fmt.Errorf("%s holds %s and is not krund; end it, then start krund again", other, path)
		}
	}
	return fmt.Errorf("%w is running on this machine, on %s (%s is locked); wait for it, or stop it with "+
		"`krunctl stop`", ErrBusy, who, path)
}

// machineHolder returns the process that took the machine's lock last, and its experiment.
func machineHolder(fsys durable.FS, path string) (pid int, experiment string) {
	text, err := durable.ReadFile(fsys, path)
	number, experiment, ok := strings.Cut(strings.TrimSpace(string(text)), " ")
	if pid, _ = strconv.Atoi(number); err != nil || !ok {
		return 0, "an experiment"
	}
	return pid, experiment
}

// A Request asks krund to do something. It is a file of that name in the experiment's directory;
// the request is made by its existence, and its text is informational.
type Request string

// The requests.
const (
	// Hold makes krund do nothing at all, so that boots are ordinary, until the request is
	// withdrawn.
	Hold Request = "hold"
	// Stop lets the running process execution finish. krund then ends without restarting the
	// machine and withdraws the request.
	Stop Request = "stop"
	// Accept makes the next krund go on with programs that have changed, as a new edition. krund
	// then withdraws the request.
	Accept Request = "accept-changed"
)

// RequestFile returns the path of the file of a request.
func (f Directory) RequestFile(r Request) string { return filepath.Join(f.dir, string(r)) }

// Ask makes a request durably. text is for users who look into the file. On a full disk, Ask leaves
// an empty file, because a full disk is a common reason to stop krund.
func (f Directory) Ask(r Request, text string) error {
	const othersRead = 0o644
	err := durable.WriteFile(f.fsys, f.RequestFile(r), []byte(text+"\n"), othersRead)
	if err != nil && durable.WriteFile(f.fsys, f.RequestFile(r), nil, othersRead) != nil {
		return fmt.Errorf("ask krund to %s: %w", r, err)
	}
	return nil
}

// Withdraw withdraws a request durably. It reports whether there was one.
func (f Directory) Withdraw(r Request) (bool, error) {
	err := f.fsys.Remove(f.RequestFile(r))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = f.fsys.SyncDir(f.dir)
	}
	if err != nil {
		return false, fmt.Errorf("withdraw the request to %s: %w", r, err)
	}
	return true, nil
}

// Asked reports whether the request exists.
func (f Directory) Asked(r Request) (bool, error) { return Asked(f.fsys, f.dir, r) }

// Asked reports whether the request exists in the directory dir, which need not exist.
func Asked(fsys durable.FS, dir string, r Request) (bool, error) {
	_, err := fsys.Lstat(filepath.Join(dir, string(r)))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, notDirectory(dir)
	}
	return false, fmt.Errorf("look for the request to %s: %w", r, err)
}
