//go:build unix

// Package trust opens what root believes: configurations, programs, the directories of experiments.
// It walks a path one part at a time from the root of the file system, on descriptors, and looks at
// each directory and link before it goes on. What it opens is what it has looked at: renaming or
// exchanging anything meanwhile cannot put something else in its place. Start reading at Open.
package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"krund/internal/display"
)

// A Verdict says who else than root can change what a path leads to. That of the zero Verdict is:
// only root.
type Verdict struct {
	others []other // who own parts of the path
	open   error   // a part that a group or anybody may write
	absent error   // what is not there, and anybody may make
}

// An other is another user than root, and the first part of the path that is theirs.
type other struct {
	uid  uint32
	part string
	link bool
}

// cure is the command that makes the part root's.
func (o other) cure() string {
	if o.link {
		return "chown -h root " + display.ShellPath(o.part)
	}
	return "chown root " + display.ShellPath(o.part)
}

// RootOnly returns an error unless only root can change what the path leads to. It is the rule for
// what root does by itself, at every boot.
func (v Verdict) RootOnly() error {
	if len(v.others) == 0 {
		return v.open
	}
	o := v.others[0]
	return fmt.Errorf("%s belongs to user %d, who could make root run anything; `%s`", o.part, o.uid,
		o.cure())
}

// OneOwner is RootOnly with one exception: one other user may own parts of the path. It is the rule
// for what a person does as root by hand, with files of a user.
func (v Verdict) OneOwner() error {
	for _, o := range v.others {
		if first := v.others[0]; o.uid != first.uid {
			return fmt.Errorf("%s belongs to user %d and %s to user %d, and each could change what root does with it; `%s`",
				first.part, first.uid, o.part, o.uid, first.cure())
		}
	}
	return v.open
}

// Absent returns an error when the path leads to nothing, and anybody could make what it leads to,
// as in /tmp. The rules allow that: whoever makes the file or directory learns whose it is.
func (v Verdict) Absent() error { return v.absent }

// Look judges a path without opening what it leads to. The error wraps fs.ErrNotExist when there is
// nothing; the Verdict is then that of the directories on the way. Other users than root have
// nothing to fear, and get the zero Verdict.
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

// Open opens a regular file for reading, and judges the path that was taken, for root. It never
// waits, as opening a pipe would. Errors: ErrNotFile, fs.ErrNotExist and those of the file system.
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
	if !isRegular(stat) { // before it is opened: some devices act on that
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
