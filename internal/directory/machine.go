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

	"krund/internal/durable"
	"krund/internal/guard"
)

// ErrBusy is in the error when another krund works on this machine.
var ErrBusy = errors.New("another krund")

// A GuardError reports that a killed krund held the machine's lock, and that its guard holds it
// until the machine is restored.
type GuardError struct {
	PID int    // of the guard
	For string // the experiment's directory
}

func (e *GuardError) Error() string {
	return fmt.Sprintf("the guard of a killed krund, process %d, restores this machine after %s; "+
		"start again when it has ended", e.PID, e.For)
}

// RuntimeDirs are where a machine may have its directory for what ends with the boot.
func RuntimeDirs() []string { return []string{"/run", "/var/run"} }

// runtimeDir makes, in the first of dirs that is there, the directory for what krund keeps until
// the end of the boot. Only its owner can enter it.
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
			return "", fmt.Errorf("%s must be a directory that only its owner, user %d, can enter; remove it", dir, os.Geteuid())
		}
		return dir, nil
	}
	return "", fmt.Errorf("find a place for what ends with the boot: %w", missing)
}

// Spare returns the path of the copy of the journal (control.Journal.Spare) of the experiment in
// directory dir, in the first of dirs that is there; "" where there is no place for one.
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

// LockMachine takes the machine, in the first of the directories that is there, for
// a krund that there can be only one of: one with reboots, or with an account
// that it makes anew for each execution. what is the experiment's directory,
// for the message of the second one. The end of the process releases the lock,
// too, unless another process has inherited Lock.File. The error is ErrBusy when another krund has
// it, and a *GuardError when a guard has it.
func LockMachine(fsys durable.FS, what string, dirs ...string) (*Lock, error) {
	place, err := runtimeDir(fsys, dirs)
	if err != nil {
		return nil, fmt.Errorf("lock the machine: %w", err)
	}
	path := filepath.Join(place, "lock")
	last := func() int { pid, _ := machineHolder(fsys, path); return pid }
	file, err := takeLock(fsys, path, last, durable.Lock)
	for range lockTries {
		if !errors.Is(err, durable.ErrLocked) || isHeld(fsys, path, last()) {
			break
		}
		file, err = takeLock(fsys, path, last, durable.Lock) // its holder has just ended
	}
	if errors.Is(err, durable.ErrLocked) {
		return nil, busy(fsys, path)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the machine: %w", err)
	}
	_, _ = file.WriteAt(formatHolder(os.Getpid(), what), 0) // a help for messages, as in Directory.lock
	return &Lock{file: file}, nil
}

// isHeld reports whether a process can be seen that has the machine's lock; last took it last.
func isHeld(fsys durable.FS, path string, last int) bool {
	info, err := fsys.Lstat(path)
	return err != nil || info.Sys() == nil || isHolder(last, info) || findHolder(info) > 0
}

// busy describes who has the machine's lock.
func busy(fsys durable.FS, path string) error {
	pid, who := machineHolder(fsys, path)
	if info, err := fsys.Lstat(path); err == nil {
		if !isHolder(pid, info) {
			if heir := findHolder(info); guard.Is(heir) && isKrund(heir) && mayHold(heir, 0) {
				return &GuardError{PID: heir, For: who}
			}
		}
		if other := stranger(fsys, info, pid); other != "" {
			return fmt.Errorf("%s holds %s, and is not krund; end it, then start krund again", other, path)
		}
	}
	return fmt.Errorf("%w works on this machine, on %s (%s is locked); wait until it has ended, or end it by `krunctl stop`", ErrBusy, who, path)
}

// machineHolder returns which process took the machine's lock last, and for which experiment.
func machineHolder(fsys durable.FS, path string) (pid int, experiment string) {
	text, err := durable.ReadFile(fsys, path)
	number, experiment, ok := strings.Cut(strings.TrimSpace(string(text)), " ")
	if pid, _ = strconv.Atoi(number); err != nil || !ok {
		return 0, "an experiment"
	}
	return pid, experiment
}
