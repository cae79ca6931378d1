package durable

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenUserFile opens the file name for reading: a regular file, or a descriptor that the caller of
// krunctl has opened for it (/dev/stdin, /dev/fd/N). It refuses every other FIFO, device and
// socket, and never waits for one.
func OpenUserFile(name string) (File, error) {
	if fd, ok := descriptor(name); ok {
		file, err := duplicate(fd, name)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return file, nil
		}
		_ = file.Close() // a regular file is opened again below, to be read from its beginning
	}
	return OS().OpenFile(name, os.O_RDONLY, 0)
}

// WriteUserFile writes the output of write to the file name. It calls write once, with a buffered
// writer, unless name cannot be written to.
//
// It replaces a regular file atomically when everything was written, and otherwise leaves it
// unchanged; the file keeps its mode and owner. It replaces the target of a symbolic link, and
// writes to a character device or a FIFO.
func WriteUserFile(name string, write func(io.Writer) error) error {
	if fd, ok := descriptor(name); ok {
		return through(name, write, func() (*os.File, error) { return duplicate(fd, name) })
	}
	info, err := os.Stat(name) // follows links where the kernel lets us follow them
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, err := os.Readlink(name); err == nil {
			return fmt.Errorf(
				"write %s: it is a symbolic link to %s, which is not there; name another file",
				name,
				target,
			)
		}
		const usual = 0o644
		return WriteTo(OS(), name, usual, buffered(write))
	case err != nil:
		return fmt.Errorf("write %s: %w", name, unwrapped(err))
	case info.IsDir():
		return fmt.Errorf("write %s: it is a directory; name a file in it", name)
	case info.Mode().IsRegular():
		return replace(name, info, write)
	case info.Mode()&(fs.ModeCharDevice|fs.ModeNamedPipe) != 0:
		return through(name, write, func() (*os.File, error) { return openSame(name, info) })
	}
	return fmt.Errorf("write %s: it is %s; name a file", name, Describe(info.Mode()))
}

// replace replaces the regular file that info describes.
func replace(name string, info fs.FileInfo, write func(io.Writer) error) error {
	file, err := filepath.EvalSymlinks(name)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if now, err := os.Lstat(file); err != nil || !os.SameFile(info, now) {
		return fmt.Errorf("write %s: it has just been replaced; try again", name)
	}
	return WriteTo(OS(), file, info.Mode().Perm(), func(w io.Writer) error {
		if f, ok := w.(attributes); ok {
			if err := keep(f, info); err != nil {
				return err
			}
		}
		return buffered(write)(w)
	})
}

// attributes are what a file keeps when it is replaced.
type attributes interface {
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
}

// keep gives a file the owner, where that is permitted, and the mode of another one. A file of a
// new owner is made with the mode before, so it never is more open than the old one was.
func keep(f attributes, old fs.FileInfo) error {
	if uid, gid, ok := owner(old); ok {
		_ = f.Chown(uid, gid) // only root may give a file away; others keep what they write
	}
	return f.Chmod(old.Mode().Perm())
}

// owner returns who owns a file.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// openSame opens a device or a FIFO for writing, if it still is the one that info is of.
func openSame(name string, info fs.FileInfo) (*os.File, error) {
	file, err := os.OpenFile(
		name,
		os.O_WRONLY|unix.O_NOCTTY,
		0,
	) // waits for the reader of a FIFO, as the shell does
	if err != nil {
		return nil, err
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(fmt.Errorf("%s has just been replaced; try again", name), file.Close())
	}
	return file, nil
}

// through writes to the file that open opens.
func through(name string, write func(io.Writer) error, open func() (*os.File, error)) error {
	file, err := open()
	if err != nil {
		return fmt.Errorf("write %s: %w", name, unwrapped(err))
	}
	err = buffered(write)(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, unwrapped(err))
	}
	return nil
}

// buffered returns write with a buffer before its writer.
func buffered(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<16)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	}
}

// unwrapped removes the name from an error that will be reported with the name.
func unwrapped(err error) error {
	if path, ok := err.(*fs.PathError); ok { //nolint:errorlint // what is around it may have more to say
		return path.Err
	}
	return err
}

// IsDescriptor reports whether name means a descriptor that krunctl was started with: /dev/stdin.
func IsDescriptor(name string) bool {
	_, ok := descriptor(name)
	return ok
}

// descriptor returns the number of the descriptor of this process that name means.
func descriptor(name string) (fd int, ok bool) {
	switch name {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if text, found := strings.CutPrefix(name, dir); found {
			fd, err := strconv.ParseUint(text, 10, 16)
			return int(fd), err == nil
		}
	}
	return 0, false
}

// duplicate opens a descriptor of this process a second time.
func duplicate(fd int, name string) (*os.File, error) {
	again, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(again), name), nil
}
