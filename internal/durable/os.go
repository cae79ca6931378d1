//go:build unix

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is the FS of the system. Package os already repeats calls that a
// signal interrupts (EINTR).
type system struct{}

// OpenFile never writes through a symbolic link: krund writes as root, and
// only into files it made itself. It opens no FIFO, socket or device, and never
// waits for one: a device is not even touched.
func (system) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		flag |= syscall.O_NOFOLLOW
	}
	if flag&os.O_EXCL == 0 { // else it is made now
		if info, err := os.Stat(name); err == nil && special(info.Mode()) {
			return nil, notRegular(name, info.Mode())
		}
		flag |= syscall.O_NONBLOCK // something else may have come to that name since
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, explainLink(name, flag, err)
	}
	if flag&os.O_EXCL == 0 {
		if info, err := f.Stat(); err != nil || special(info.Mode()) {
			if err == nil {
				err = notRegular(name, info.Mode())
			}
			return nil, errors.Join(err, f.Close())
		}
		// The kernel ignores the flag for a regular file; a server of a FUSE file system need not.
		waits := func(fd int) error { return unix.SetNonblock(fd, false) }
		if err := (systemFile{f}).onDescriptor(waits); err != nil {
			return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, f.Close())
		}
	}
	return systemFile{f}, nil
}

// special reports whether something is neither a file nor a directory, which can be opened and not read.
func special(mode fs.FileMode) bool { return !mode.IsRegular() && !mode.IsDir() }

// notRegular is the error for what is special.
func notRegular(name string, mode fs.FileMode) error {
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is %s: %w", Describe(mode), ErrNotRegular)}
}

// explainLink says in words what ELOOP (Linux, OpenBSD) or EMLINK (FreeBSD)
// mean when O_NOFOLLOW was given.
func explainLink(name string, flag int, err error) error {
	if flag&syscall.O_NOFOLLOW == 0 || !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.EMLINK) {
		return err
	}
	return fmt.Errorf("%s is a symbolic link; krund writes only to real files, replace it by one: %w", name, err)
}

func (system) Rename(oldName, newName string) error       { return os.Rename(oldName, newName) }
func (system) Remove(name string) error                   { return os.Remove(name) }
func (system) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (system) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (system) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }

// SyncDir syncs a folder. A file system that answers EINVAL or ENOTSUP has no
// such operation (some network and FUSE file systems); there is nothing more
// one could do there.
func (system) SyncDir(name string) error {
	d, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// systemFile is an *os.File with the two abilities File does not ask for.
type systemFile struct{ *os.File }

func (f systemFile) SyncData() error {
	err := f.onDescriptor(syncData)
	if err != nil {
		return &fs.PathError{Op: "sync", Path: f.Name(), Err: err}
	}
	return nil
}

// TryLock uses flock: the lock belongs to the open file, so it ends with the
// process, and a child that execs does not inherit it (close-on-exec).
func (f systemFile) TryLock() error { return f.flock(unix.LOCK_EX | unix.LOCK_NB) }

// WaitLock is TryLock that waits.
func (f systemFile) WaitLock() error { return f.flock(unix.LOCK_EX) }

func (f systemFile) flock(how int) error {
	err := f.onDescriptor(func(fd int) error { return unix.Flock(fd, how) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("lock %s: %w: %w", f.Name(), err, errors.ErrUnsupported)
	}
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// onDescriptor calls op with the file's descriptor, again while a signal
// interrupts it.
func (f systemFile) onDescriptor(op func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	err = conn.Control(func(fd uintptr) {
		for {
			if opErr = op(int(fd)); !errors.Is(opErr, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		return fs.ErrClosed // the only reason there is, in package os's words
	}
	return opErr
}
