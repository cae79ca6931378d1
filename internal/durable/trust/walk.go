//go:build unix

package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"krund/internal/display"
)

// mostLinks is the maximum number of symbolic links on a path, as in the kernel (MAXSYMLINKS in
// include/linux/namei.h).
const mostLinks = 40

// A walk follows a path. It has at most two descriptors open.
type walk struct {
	dir     int    // descriptor of the current directory, -1 for none
	at      string // its path
	public  bool   // any user can create files in it, as in /tmp
	name    string // of the path's target in dir
	verdict Verdict
}

// to walks to the directory of the path's target and returns the target's status. It is never a
// link.
func (w *walk) to(path string) (unix.Stat_t, error) {
	var stat unix.Stat_t
	path, err := filepath.Abs(path)
	if err == nil {
		err = w.enter("/")
	}
	rest := parts(path)
	for links := 0; err == nil && len(rest) > 0; {
		w.name = rest[0]
		if err = w.stat(&stat); err != nil {
			if w.public && errors.Is(err, fs.ErrNotExist) {
				w.verdict.absent = fmt.Errorf("%s does not exist, and any user could create it",
					display.Head(w.path(), excerpt))
			}
			break
		}
		switch isLink := stat.Mode&unix.S_IFMT == unix.S_IFLNK; {
		case isLink && links == mostLinks:
			err = unix.ELOOP
		case isLink:
			links++
			w.judge(w.path(), stat)
			rest, err = w.follow(rest[1:])
		case len(rest) == 1:
			return stat, nil
		default:
			rest, err = rest[1:], w.enter(w.name)
		}
	}
	if err == nil { // it is the directory entered last
		w.name = "."
		err = w.stat(&stat)
	}
	if err != nil {
		err = &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return stat, err
}

// parts splits a path.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func (w *walk) path() string { return filepath.Join(w.at, w.name) }

func (w *walk) stat(stat *unix.Stat_t) error {
	return again(func() error { return unix.Fstatat(w.dir, w.name, stat, unix.AT_SYMLINK_NOFOLLOW) })
}

// follow reads the current link and returns the rest of the path after it.
func (w *walk) follow(rest []string) ([]string, error) {
	text := make([]byte, unix.PathMax)
	n := 0
	err := again(func() (err error) {
		n, err = unix.Readlinkat(w.dir, w.name, text)
		return err
	})
	if err != nil {
		return nil, err
	}
	target := string(text[:n])
	if filepath.IsAbs(target) {
		err = w.enter("/")
	}
	return append(parts(target), rest...), err
}

// enter opens a directory, "/" or one in the current directory, and judges it.
func (w *walk) enter(name string) error {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(w.dir, name, directoryOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return err
	}
	at := w.at
	w.close()
	w.dir, w.at = fd, filepath.Join(at, name)
	if name == "/" {
		w.at = "/"
	}
	var stat unix.Stat_t
	if err := again(func() error { return unix.Fstat(fd, &stat) }); err != nil {
		return err
	}
	w.judge(w.at, stat)
	return nil
}

// open opens the current file.
func (w *walk) open(path string) (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(w.dir, w.name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (w *walk) close() {
	if w.dir >= 0 {
		_ = unix.Close(w.dir) // nothing was written
	}
	w.dir = -1
}

// judge records users other than root who can change a part of the path. In a sticky directory such
// as /tmp, users can change only their own files, but they can create links. The mode of a link is
// meaningless.
func (w *walk) judge(path string, stat unix.Stat_t) {
	path = display.Head(path, excerpt)
	kind, mode := stat.Mode&unix.S_IFMT, uint32(stat.Mode&0o7777)
	if stat.Uid != 0 {
		w.verdict.others = append(w.verdict.others, other{stat.Uid, path, kind == unix.S_IFLNK})
	}
	sticky := kind == unix.S_IFDIR && mode&unix.S_ISVTX != 0
	const othersWrite = 0o022
	// The kernel does the same with fs.protected_symlinks.
	if w.verdict.open == nil && kind == unix.S_IFLNK && stat.Uid != 0 && w.public {
		w.verdict.open = fmt.Errorf(
			"%s is a link of user %d in a directory that all users can write; `rm %s`",
			path, stat.Uid, display.ShellPath(path))
	}
	w.public = w.public && kind == unix.S_IFLNK || sticky && mode&othersWrite != 0
	if w.verdict.open == nil && kind != unix.S_IFLNK && !sticky && mode&othersWrite != 0 {
		w.verdict.open = fmt.Errorf("%s can be changed by others besides its owner (mode %04o); `chmod "+
			"go-w %s`", path, mode, display.ShellPath(path))
	}
}

func statOf(file *os.File) (unix.Stat_t, error) {
	var stat unix.Stat_t
	err := again(func() error { return unix.Fstat(int(file.Fd()), &stat) })
	return stat, err
}

func isRegular(stat unix.Stat_t) bool { return stat.Mode&unix.S_IFMT == unix.S_IFREG }

// again calls op until it is not interrupted by a signal.
func again(op func() error) error {
	for {
		if err := op(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// excerpt is how many bytes of a path a message quotes.
const excerpt = 300
