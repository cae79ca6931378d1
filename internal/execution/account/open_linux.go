package account

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// openBelow opens a directory inside another, on the same mount. openat2 also recognizes mounts
// with the same device number, and none in a subvolume, which has another one. It is missing before
// Linux 5.6, and may be forbidden.
func openBelow(dir int, name string) (int, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   openFlags,
		Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return openOnDevice(dir, name)
	}
	return fd, err
}

// The calls and the flag of btrfs (include/uapi/linux/btrfs.h).
const (
	getSubvolumeFlags = 0x80089419
	setSubvolumeFlags = 0x4008941a
	subvolumeReadOnly = 1 << 1
)

// permitWriting makes a subvolume of btrfs writable: its owner may have made it read-only. On
// another file system, the call has no effect.
func (d *directory) permitWriting() {
	flags := uint64(0)
	if subvolumeFlags(d.fd(), getSubvolumeFlags, &flags) == nil && flags&subvolumeReadOnly != 0 {
		flags &^= subvolumeReadOnly
		_ = subvolumeFlags(d.fd(), setSubvolumeFlags, &flags) // then removing what is in it fails
	}
}

func subvolumeFlags(fd int, request uint, flags *uint64) error {
	_, err := sysroot.Uninterrupted(func() (int, error) {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request),
			uintptr(unsafe.Pointer(flags)))
		if errno != 0 {
			return 0, errno
		}
		return 0, nil
	})
	return err
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
		n, err := sysroot.Uninterrupted(func() (int, error) { return unix.Getdents(d.fd(), buffer) })
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
