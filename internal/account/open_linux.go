package account

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openBelow opens a directory inside another. openat2 also refuses bind mounts, which have the same
// device number. Where it is missing (before Linux 5.6) or forbidden, bind mounts are not
// recognized.
func openBelow(dir int, name string) (int, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   openFlags,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return unix.Openat(dir, name, openFlags, 0)
	}
	return fd, err
}
