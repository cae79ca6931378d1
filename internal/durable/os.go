//go:build unix

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is the FS of the operating system. Package os already retries calls that are interrupted
// by a signal (EINTR).
type system struct {
	root *os.Root // the directory that Inside opened, or nil
	dir  string   // its path
}

// inside opens the directory dir for system.Inside and similar methods.
func (system) inside(dir string) (system, error) {
	root, err := os.OpenRoot(dir)
	return system{root: root, dir: filepath.Clean(dir)}, err
}

// Inside implements the function Inside.
func (f system) Inside(dir string) (FS, error) { return f.inside(dir) }

// within returns the name relative to the directory that Inside opened, and whether it is inside
// that directory.
func (f system) within(name string) (string, bool) {
	if f.root == nil {
		return "", false
	}
	name = filepath.Clean(name)
	if name == f.dir {
		return ".", true
	}
	if f.dir == "." && filepath.IsLocal(name) {
		return name, true
	}
	return strings.CutPrefix(name, strings.TrimSuffix(f.dir, "/")+"/")
}

// OpenFile never writes through a symbolic link, because krund writes as root, and only to files
// that it created. It never opens a FIFO, socket or device, and never blocks on one: it does not
// even touch devices.
func (f system) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		flag |= syscall.O_NOFOLLOW
	}
	if flag&os.O_EXCL == 0 { // otherwise it is created now
		if info, err := f.stat(name); err == nil && special(info.Mode()) {
			return nil, notRegular(name, info.Mode())
		}
		flag |= syscall.O_NONBLOCK // the name may have been replaced since Lstat
	}
	file, err := f.open(name, flag, perm)
	if err != nil {
		return nil, linkError(name, flag, named(err, name))
	}
	if flag&os.O_EXCL == 0 {
		if info, err := file.Stat(); err != nil || special(info.Mode()) {
			if err == nil {
				err = notRegular(name, info.Mode())
			}
			return nil, errors.Join(err, file.Close())
		}
		// The kernel ignores the flag for a regular file, but the server of a FUSE file system
		// might not.
		waits := func(fd int) error { return unix.SetNonblock(fd, false) }
		if err := (systemFile{file}).onDescriptor(waits); err != nil {
			return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, file.Close())
		}
	}
	return systemFile{file}, nil
}

func (f system) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	rel, ok := f.within(name)
	if !ok {
		return os.OpenFile(name, flag, perm)
	}
	if flag&syscall.O_NOFOLLOW != 0 { // os.Root follows links regardless
		if info, err := f.root.Lstat(rel); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
		}
	}
	return f.root.OpenFile(rel, flag, perm)
}

func (f system) stat(name string) (fs.FileInfo, error) {
	if rel, ok := f.within(name); ok {
		return f.root.Stat(rel)
	}
	return os.Stat(name)
}

// named replaces the relative name in an error of os.Root by the full name.
func named(err error, name string) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		path.Path = name
	}
	return err
}

// special reports whether a file is neither a regular file nor a directory: opening it may have
// side effects.
func special(mode fs.FileMode) bool { return !mode.IsRegular() && !mode.IsDir() }

// notRegular returns the error for a special file.
func notRegular(name string, mode fs.FileMode) error {
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is %s: %w", Describe(mode),
		ErrNotRegular)}
}

// linkError says what to do about ELOOP (Linux, OpenBSD) and EMLINK (FreeBSD), which result from
// O_NOFOLLOW. It returns any other err as it is.
func linkError(name string, flag int, err error) error {
	if flag&syscall.O_NOFOLLOW == 0 || !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.EMLINK) {
		return err
	}
	return fmt.Errorf("%s is a symbolic link; krund writes only to regular files; replace it with one: %w",
		name, err)
}

func (f system) Rename(oldName, newName string) error {
	from, ok1 := f.within(oldName)
	to, ok2 := f.within(newName)
	if ok1 && ok2 {
		return f.root.Rename(from, to)
	}
	return os.Rename(oldName, newName)
}

func (f system) Remove(name string) error {
	if rel, ok := f.within(name); ok {
		return named(f.root.Remove(rel), name)
	}
	return os.Remove(name)
}

func (f system) Mkdir(name string, perm fs.FileMode) error {
	switch rel, ok := f.within(name); {
	case ok && rel == ".":
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	case ok:
		return named(f.root.Mkdir(rel, perm), name)
	}
	return os.Mkdir(name, perm)
}

func (f system) ReadDir(name string) ([]fs.DirEntry, error) {
	if rel, ok := f.within(name); ok {
		list, err := fs.ReadDir(f.root.FS(), rel)
		return list, named(err, name)
	}
	return os.ReadDir(name)
}

func (f system) Lstat(name string) (fs.FileInfo, error) {
	if rel, ok := f.within(name); ok {
		info, err := f.root.Lstat(rel)
		return info, named(err, name)
	}
	return os.Lstat(name)
}

// SyncDir syncs a directory. Some network and FUSE file systems return EINVAL or ENOTSUP because
// they do not support this operation; nothing more can be done there.
func (f system) SyncDir(name string) error {
	var d *os.File
	var err error
	if rel, ok := f.within(name); ok {
		d, err = f.root.OpenFile(rel, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	} else {
		d, err = os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	}
	if err != nil {
		return named(err, name)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// systemFile is an *os.File as a File.
type systemFile struct{ *os.File }

// osFile implements Append.
func (f systemFile) osFile() *os.File { return f.File }

func (f systemFile) SyncData() error {
	err := f.onDescriptor(syncData)
	if err != nil {
		return &fs.PathError{Op: "sync", Path: f.Name(), Err: err}
	}
	return nil
}

// TryLock uses flock: the lock belongs to the open file, so it ends with the process, and a child
// that calls exec does not inherit it (close-on-exec).
func (f systemFile) TryLock() error { return f.flock(unix.LOCK_EX | unix.LOCK_NB) }

// WaitLock is TryLock, but waits.
func (f systemFile) WaitLock() error { return f.flock(unix.LOCK_EX) }

func (f systemFile) flock(how int) error {
	err := f.onDescriptor(func(fd int) error { return unix.Flock(fd, how) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOLCK),
		errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("lock %s: %w: %w", f.Name(), err, errors.ErrUnsupported)
	}
	return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// onDescriptor calls op with the file's descriptor, and retries while a signal interrupts it.
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
		return fs.ErrClosed // the only possible reason, as package os reports it
	}
	return opErr
}
