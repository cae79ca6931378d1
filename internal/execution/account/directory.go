package account

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"krund/internal/machine/sysroot"
)

// directory is an open directory. Its methods take names of entries, never paths.
type directory struct{ file *os.File }

const openFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openRoot opens the directory in which a walk begins. krund chose its path, so it may contain
// symbolic links: on Debian /var/spool/mail is one.
func openRoot(name string) (*directory, error) {
	return opened(sysroot.Uninterrupted(func() (int, error) {
		return unix.Open(name, openFlags&^unix.O_NOFOLLOW, 0)
	}))
}

func opened(fd int, err error) (*directory, error) {
	if err != nil {
		return nil, err
	}
	return &directory{file: os.NewFile(uintptr(fd), "directory")}, nil
}

func (d *directory) fd() int { return int(d.file.Fd()) }

// open opens a directory in this one, on the same mount.
func (d *directory) open(name string) (*directory, error) {
	return opened(sysroot.Uninterrupted(func() (int, error) { return openBelow(d.fd(), name) }))
}

// openOnDevice is openBelow where the system does not tell mounts apart: it refuses another device
// number, and does not recognize a bind mount.
func openOnDevice(dir int, name string) (int, error) {
	fd, err := unix.Openat(dir, name, openFlags, 0)
	if err != nil {
		return fd, err
	}
	var outer, inner unix.Stat_t
	if err := errors.Join(unix.Fstat(dir, &outer), unix.Fstat(fd, &inner)); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	if outer.Dev != inner.Dev {
		return -1, errors.Join(unix.EXDEV, unix.Close(fd))
	}
	return fd, nil
}

func (d *directory) close() error { return d.file.Close() }

// read returns at most n names, and none at the end.
func (d *directory) read(n int) ([]string, error) {
	names, err := d.file.Readdirnames(n)
	if errors.Is(err, io.EOF) {
		return names, nil
	}
	return names, bare(err)
}

func (d *directory) stat() (unix.Stat_t, error) {
	var st unix.Stat_t
	_, err := sysroot.Uninterrupted(func() (int, error) { return 0, unix.Fstat(d.fd(), &st) })
	return st, err
}

// lstat describes an entry, not what a symbolic link points to.
func (d *directory) lstat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	_, err := sysroot.Uninterrupted(func() (int, error) {
		return 0, unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st, err
}

func (d *directory) unlink(name string, flags int) error {
	_, err := sysroot.Uninterrupted(func() (int, error) { return 0, unix.Unlinkat(d.fd(), name, flags) })
	return err
}

func (d *directory) rename(name string, to *directory, newName string) error {
	_, err := sysroot.Uninterrupted(func() (int, error) {
		return 0, unix.Renameat(d.fd(), name, to.fd(), newName)
	})
	return err
}

// bare removes the path, which is meaningless here, from an error.
func bare(err error) error {
	var path *os.PathError
	var call *os.SyscallError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &call):
		return call.Err
	}
	return err
}
