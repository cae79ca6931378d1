package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"krund/internal/durable"
)

// ErrBusy is in the error when another krund works on this machine.
var ErrBusy = errors.New("another krund")

// RuntimeDirs are where a machine may have its folder for what ends with the boot.
func RuntimeDirs() []string { return []string{"/run", "/var/run"} }

// LockMachine takes the machine, in the first of the folders that is there, for
// a krund that there can be only one of: one with reboots, or with an account
// that it makes anew for each execution. The end of the process releases the
// lock, too.
func LockMachine(fsys durable.FS, dirs ...string) (*Lock, error) {
	var missing error
	for _, dir := range dirs {
		if _, err := fsys.Lstat(dir); err != nil {
			missing = err
			continue
		}
		return lockMachine(fsys, filepath.Join(dir, "krund.lock"))
	}
	return nil, fmt.Errorf("find a place for the machine's lock: %w", missing)
}

func lockMachine(fsys durable.FS, path string) (*Lock, error) {
	const othersRead = 0o644
	file, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE, othersRead)
	if err != nil {
		return nil, fmt.Errorf("lock the machine: %w", err)
	}
	switch err := durable.Lock(file); {
	case errors.Is(err, durable.ErrLocked):
		return nil, errors.Join(fmt.Errorf("%w works on this machine (%s is locked); wait until it has ended: `systemctl list-units 'krund@*'` shows which it is", ErrBusy, path), file.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock the machine: %w", err), file.Close())
	}
	return &Lock{file: file}, nil
}
