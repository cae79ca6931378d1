package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// File is an open file of an FS. *os.File is one.
//
// Write and WriteAt return an error when they write less than all. Sync makes
// the file's content and size durable, not its name.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	Sync() error
	Close() error
	Stat() (fs.FileInfo, error)
}

// FS contains the operations that krund needs of a file system. Names are paths as in package os.
// Errors wrap those of package io/fs and syscall: test them with errors.Is (fs.ErrNotExist,
// fs.ErrExist, syscall.ENOSPC).
type FS interface {
	// OpenFile opens a regular file with the flags of package os. OS refuses to open a symbolic
	// link for writing. It refuses everything except files with ErrNotRegular.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename moves a file within its directory, replacing newName at once.
	Rename(oldName, newName string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Mkdir makes one directory.
	Mkdir(name string, perm fs.FileMode) error
	// ReadDir returns the entries of a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lstat describes name itself, not what a symbolic link points to.
	Lstat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
}

// Inside returns an FS that accesses everything below the directory dir through a descriptor of it,
// which is opened now: renaming or replacing a directory above it has no effect later. Lstat of dir
// itself describes that descriptor. Other names are accessed as in fsys, and so are all names if
// fsys is not the file system of the system.
func Inside(fsys FS, dir string) (FS, error) {
	if f, ok := fsys.(interface {
		Inside(dir string) (FS, error)
	}); ok {
		return f.Inside(dir)
	}
	return fsys, nil
}

// Append opens a file of the system for appending, and creates it if it does not exist. What is
// appended is not durable: the file is a log.
func Append(fsys FS, name string, perm fs.FileMode) (*os.File, error) {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
	if err != nil {
		return nil, err
	}
	if file := OSFile(f); file != nil {
		return file, nil
	}
	return nil, errors.Join(fmt.Errorf("append to %s: %w", name, errors.ErrUnsupported), f.Close())
}

// OSFile returns the file of package os behind f; nil in a simulation.
func OSFile(f File) *os.File {
	if file, ok := f.(interface{ osFile() *os.File }); ok {
		return file.osFile()
	}
	return nil
}

// ErrLocked is returned by Lock if another process holds the lock.
var ErrLocked = errors.New("the file is locked by another process")

// ErrNotRegular is in the error for a FIFO, a socket or a device in place of a file.
var ErrNotRegular = errors.New("name a regular file")

// Describe names the kind of a file, with its article: "a FIFO".
func Describe(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "a regular file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDevice:
		return "a block device"
	case fs.ModeDevice | fs.ModeCharDevice:
		return "a character device"
	}
	return "a special file"
}

// DataSyncer is a File that can omit from a sync what is not needed to read the data back, such as
// the modification time.
type DataSyncer interface {
	SyncData() error
}

// SyncData makes the content and size of f durable, as f.Sync does, and is
// cheaper for writes in place where the system has fdatasync.
func SyncData(f File) error {
	if d, ok := f.(DataSyncer); ok {
		return d.SyncData()
	}
	return f.Sync()
}

// Locker is a File that can be locked against other processes.
type Locker interface {
	TryLock() error
}

// Waiter is a Locker that can wait for its turn.
type Waiter interface {
	WaitLock() error
}

// LockWait is Lock that waits, without limit, until no other process holds the lock. It sleeps in
// one system call.
func LockWait(f File) error {
	if w, ok := f.(Waiter); ok {
		return w.WaitLock()
	}
	return Lock(f)
}

// Lock acquires the exclusive advisory lock of f without waiting. Close releases it, and so does
// the end of the process. The error is ErrLocked if another process holds the lock, and wraps
// errors.ErrUnsupported if files of this FS cannot be locked.
func Lock(f File) error {
	if l, ok := f.(Locker); ok {
		return l.TryLock()
	}
	return errors.ErrUnsupported
}
