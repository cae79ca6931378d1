package account

import (
	"encoding/binary"
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

// directories returns further entries that are directories, or whose type the file system does not
// report, and none at the end.
func (d *directory) directories() ([]string, error) {
	const (
		size   = 32 << 10
		length = 16 // offsets in linux_dirent64, getdents64(2): d_reclen, d_type, d_name
		kind   = 18
		start  = 19
	)
	buffer := make([]byte, size)
	var names []string
	for len(names) == 0 {
		n, err := uninterrupted(func() (int, error) { return unix.Getdents(d.fd(), buffer) })
		if err != nil || n == 0 {
			return nil, err
		}
		for entry := buffer[:n]; len(entry) > start; {
			end := int(binary.NativeEndian.Uint16(entry[length:]))
			if end <= start || end > len(entry) {
				return names, unix.EIO // the kernel does not do that
			}
			name := unix.ByteSliceToString(entry[start:end])
			if t := entry[kind]; (t == unix.DT_DIR || t == unix.DT_UNKNOWN) && name != "." && name != ".." {
				names = append(names, name)
			}
			entry = entry[end:]
		}
	}
	return names, nil
}
