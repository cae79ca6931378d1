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

// mostLinks is how many symbolic links a path may lead over, as in the kernel (MAXSYMLINKS of
// include/linux/namei.h).
const mostLinks = 40

// A walk goes along a path. It has at most two descriptors open.
type walk struct {
	dir     int    // descriptor of the directory that was reached, -1 for none
	at      string // its path
	public  bool   // it is one where anybody can make something, as /tmp
	name    string // of what the path leads to, in dir
	verdict Verdict
}

// to goes to the directory of what the path leads to, and returns what that is: never a link.
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
				w.verdict.absent = fmt.Errorf("%s is not there, and anybody could make it", display.Head(w.path(), excerpt))
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
	if err == nil { // it is the directory that was entered last
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

// follow reads the link that was reached, and returns what is left of the path after it.
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

// enter opens a directory, "/" or one in that which was reached, and judges it.
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

// open opens the file that was reached.
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

// judge notes who else than root can change a part of the path. In a sticky directory, like /tmp,
// everybody can change only what is theirs, but lay links; the rights of a link mean nothing.
func (w *walk) judge(path string, stat unix.Stat_t) {
	path = display.Head(path, excerpt)
	kind, mode := stat.Mode&unix.S_IFMT, uint32(stat.Mode&0o7777)
	if stat.Uid != 0 {
		w.verdict.others = append(w.verdict.others, other{stat.Uid, path, kind == unix.S_IFLNK})
	}
	sticky := kind == unix.S_IFDIR && mode&unix.S_ISVTX != 0
	const othersWrite = 0o022
	// The kernel refuses the same with fs.protected_symlinks.
	if w.verdict.open == nil && kind == unix.S_IFLNK && stat.Uid != 0 && w.public {
		w.verdict.open = fmt.Errorf("%s is a link of user %d in a directory for all; `rm %s`",
			path, stat.Uid, display.ShellPath(path))
	}
	w.public = w.public && kind == unix.S_IFLNK || sticky && mode&othersWrite != 0
	if w.verdict.open == nil && kind != unix.S_IFLNK && !sticky && mode&othersWrite != 0 {
		w.verdict.open = fmt.Errorf("%s can be changed by others than its owner (mode %04o); `chmod go-w %s`", path, mode, display.ShellPath(path))
	}
}

func statOf(file *os.File) (unix.Stat_t, error) {
	var stat unix.Stat_t
	err := again(func() error { return unix.Fstat(int(file.Fd()), &stat) })
	return stat, err
}

func isRegular(stat unix.Stat_t) bool { return stat.Mode&unix.S_IFMT == unix.S_IFREG }

// again calls op until no signal interrupts it.
func again(op func() error) error {
	for {
		if err := op(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// excerpt is how many bytes of a path a message quotes.
const excerpt = 300
