//go:build unix

// Package trust opens files that root relies on: configurations, programs and the directories of
// experiments. It walks a path from the root of the file system one component at a time, on
// descriptors, and checks each directory and link before it continues. It opens exactly what it
// checked: renaming or exchanging anything at the same time cannot substitute another file. Start
// reading at Open.
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

// A Verdict records which users other than root can change what a path leads to. The zero Verdict
// means only root can.
type Verdict struct {
	others []other // owners of parts of the path
	open   error   // a part that a group or all users may write
	absent error   // a missing part that any user may create
}

// An other is a user other than root, and the first part of the path that belongs to that user.
type other struct {
	uid  uint32
	part string
	link bool
}

// cure returns the command that gives the part to root.
func (o other) cure() string {
	if o.link {
		return "chown -h root " + display.ShellPath(o.part)
	}
	return "chown root " + display.ShellPath(o.part)
}

// RootOnly returns an error unless only root can change what the path leads to. This rule applies
// to what root does automatically, at every boot.
func (v Verdict) RootOnly() error {
	if len(v.others) == 0 {
		return v.open
	}
	o := v.others[0]
	return fmt.Errorf("%s belongs to user %d, who could make root run anything; `%s`", o.part, o.uid,
		o.cure())
}

// OneOwner is RootOnly with one exception: a single other user may own parts of the path. This rule
// applies to what a person does by hand as root with a user's files.
func (v Verdict) OneOwner() error {
	for _, o := range v.others {
		if first := v.others[0]; o.uid != first.uid {
			return fmt.Errorf("%s belongs to user %d and %s to user %d, and each could change what root "+
				"does with it; `%s`",
				first.part, first.uid, o.part, o.uid, first.cure())
		}
	}
	return v.open
}

// Absent returns an error if the path leads to nothing and any user could create its target, as in
// /tmp. The other rules allow this: creating the file or directory reveals its owner.
func (v Verdict) Absent() error { return v.absent }

// Look judges a path without opening its target. The error wraps fs.ErrNotExist if there is no
// target; the Verdict is then that of the directories on the path. The rules protect only root, so
// other users get the zero Verdict.
func Look(path string) (Verdict, error) {
	if os.Geteuid() != 0 {
		_, err := os.Stat(path)
		return Verdict{}, err
	}
	w := walk{dir: -1}
	stat, err := w.to(path)
	defer w.close()
	if err == nil {
		w.judge(path, stat)
	}
	return w.verdict, err
}

// ErrNotFile is the error of Open for a directory, a pipe, a socket or a device.
var ErrNotFile = errors.New("no regular file")

// Open opens a regular file for reading and, for root, judges the path that was taken. It never
// blocks, unlike opening a pipe. The error is ErrNotFile, fs.ErrNotExist or an error of the file
// system.
func Open(path string) (*os.File, Verdict, error) {
	if os.Geteuid() != 0 {
		file, err := openOwn(path)
		return file, Verdict{}, err
	}
	w := walk{dir: -1}
	defer w.close()
	stat, err := w.to(path)
	if err != nil {
		return nil, Verdict{}, err
	}
	if !isRegular(stat) { // before opening it: some devices act on open
		return nil, Verdict{}, &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	file, err := w.open(path)
	if err != nil {
		return nil, Verdict{}, err
	}
	if stat, err = statOf(file); err == nil && !isRegular(stat) {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	if err != nil {
		return nil, Verdict{}, errors.Join(err, file.Close())
	}
	w.judge(path, stat)
	return file, w.verdict, nil
}

// openOwn is Open for other users than root.
func openOwn(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			failed.Op = "open"
		}
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	stat, err := statOf(file)
	if err == nil && !isRegular(stat) {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

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
