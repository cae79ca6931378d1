// Package durable is the file layer that survives a power cut.
//
// Everything that krund must still know after a power cut goes through an [FS]: the schedule, the
// results, the journal of settings. The interface is small, so that a simulation (package crashfs)
// can replace the disk and cut the power between any two of its calls.
//
// User files are different: [WriteUserFile] and [OpenUserFile] treat existing files like cp and the
// shell do, and never replace a device or block on one. [PackedInput] bounds the size of a
// decompressed file.
//
// The layer guarantees the following, and nothing more:
//
//   - Bytes written to a file, and its size, are volatile until [File].Sync
//     has returned nil. Before that any part of them may survive, in any order.
//   - A name made, renamed or removed is volatile until [FS].SyncDir of its
//     directory has returned nil. Syncing a file does not make its name durable.
//   - After Sync has failed nothing is known about what was written since the
//     last success: write it again before the next Sync. A kernel may report an
//     error once and then forget the pages it could not write.
//
// [WriteFile] and [WriteTo] perform the steps for a complete file: write a temporary file in the
// same directory, sync it, rename it, sync the directory. Readers see the old content or the new
// one, never a mixture.
//
// The package never retries, never logs, and has no state.
//
// Start reading at FS and WriteFile.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is an open file of an FS.
//
// Write and WriteAt return an error if they write less than requested. Sync makes the file's
// content and size durable, but not its name.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	Sync() error
	// SyncData is Sync without the metadata that is not needed to read the data back, such as the
	// modification time. It is cheaper for in-place writes if the system has fdatasync.
	SyncData() error
	// TryLock takes the exclusive advisory lock without waiting. It is released by Close and by the
	// end of the process. The error is ErrLocked if another process holds the lock, and wraps
	// errors.ErrUnsupported if files of this FS cannot be locked.
	TryLock() error
	// WaitLock is TryLock, but waits, indefinitely if necessary, in one system call.
	WaitLock() error
	Close() error
	Stat() (fs.FileInfo, error)
}

// FS is the part of a file system that krund needs. Names are paths as in package os. Errors wrap
// those of package io/fs and syscall: test them with errors.Is (fs.ErrNotExist, fs.ErrExist,
// syscall.ENOSPC).
type FS interface {
	// OpenFile opens a regular file with the flags of package os. OS refuses to open a symbolic
	// link for writing, and returns ErrNotRegular for anything that is not a file.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename renames a file within its directory and atomically replaces newName.
	Rename(oldName, newName string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Mkdir creates one directory.
	Mkdir(name string, perm fs.FileMode) error
	// ReadDir returns the entries of a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lstat describes name itself, not the target of a symbolic link.
	Lstat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
}

// Inside returns an FS that accesses the contents of the directory dir through a descriptor that it
// opens now: renaming or replacing a parent directory later has no effect on it. Lstat of dir
// itself describes that descriptor. Other names are accessed through fsys, and so are all names if
// fsys is not a file system of the operating system.
func Inside(fsys FS, dir string) (FS, error) {
	if f, ok := fsys.(interface {
		Inside(dir string) (FS, error)
	}); ok {
		return f.Inside(dir)
	}
	return fsys, nil
}

// Append opens a file of the operating system for appending, and creates it if there is none.
// Appended data is not durable: the file is a log.
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

// OSFile returns the *os.File behind f, or nil in a simulation.
func OSFile(f File) *os.File {
	if file, ok := f.(interface{ osFile() *os.File }); ok {
		return file.osFile()
	}
	return nil
}

// ErrLocked is returned by File.TryLock if another process holds the lock.
var ErrLocked = errors.New("the file is locked by another process")

// ErrNotRegular is the error if the file is a FIFO, a socket or a device.
var ErrNotRegular = errors.New("name a regular file")

// Describe returns the kind of a file with its article: "a FIFO".
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

// MkdirAll creates a directory and its missing parents. It is no error if the directory exists.
func MkdirAll(fsys FS, dir string) error {
	const usual = 0o755
	err := fsys.Mkdir(dir, usual)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) &&
		strings.Contains(dir, string(filepath.Separator)) {
		if err := MkdirAll(fsys, filepath.Dir(dir)); err != nil {
			return err
		}
		err = fsys.Mkdir(dir, usual)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
