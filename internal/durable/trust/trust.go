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
