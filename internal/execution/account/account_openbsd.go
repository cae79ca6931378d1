package account

import "errors"

func mountHome(string, int64, int, int) error {
	return errors.New("limits.home needs a file system in memory, which krund supports only on Linux; " +

		"remove it")
}

func unmountHome(string) error { return nil }

// removeObjects removes nothing: this system has no table of System V objects that a program could
// read. A restart of the machine removes them.
func removeObjects(int) (removed int, err error) { return 0, nil }

// userProcesses returns nothing: this system has no /proc, and SIGKILL to all processes of a user
// misses none.
func userProcesses(int) []int { return nil }

// removeStaleLocks does nothing: the lock of this system's user database does not name its owner.
func (maker) removeStaleLocks() error { return nil }

// openBelow opens a directory inside another, on the same mount. This system has no bind mounts.
func openBelow(dir int, name string) (int, error) { return openOnDevice(dir, name) }

// permitWriting has nothing to do: the system has no subvolumes.
func (d *directory) permitWriting() {}

// directories returns further entries, and none at the end.
func (d *directory) directories() ([]string, error) { return d.read(batch) }
