package durable

import (
	"errors"
	"io/fs"
	"syscall"
)

// IsFull reports whether err says that there is no space left, on the disk or for the user.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// WithRoom returns an FS that asks for room when an operation finds none, and then goes on with the
// operation where it was. makeRoom reports whether it made some; it is called until it did not, so
// it must come to an end. It must not use the FS returned.
//
// Of a Sync that finds no room nothing can be repeated: room is made, and the error stays.
func WithRoom(fsys FS, makeRoom func() bool) FS { return roomy{FS: fsys, makeRoom: makeRoom} }

type roomy struct {
	FS
	makeRoom func() bool
}

// again repeats do while that finds no room and some is made.
func (r roomy) again(do func() error) error {
	for {
		if err := do(); !IsFull(err) || !r.makeRoom() {
			return err
		}
	}
}

func (r roomy) OpenFile(name string, flag int, perm fs.FileMode) (f File, err error) {
	err = r.again(func() (err error) { f, err = r.FS.OpenFile(name, flag, perm); return err })
	if err != nil {
		return nil, err
	}
	return roomyFile{File: f, roomy: r}, nil
}

func (r roomy) Rename(oldName, newName string) error {
	return r.again(func() error { return r.FS.Rename(oldName, newName) })
}

func (r roomy) Mkdir(name string, perm fs.FileMode) error {
	return r.again(func() error { return r.FS.Mkdir(name, perm) })
}

type roomyFile struct {
	File
	roomy roomy
}

func (f roomyFile) Write(p []byte) (n int, err error) {
	err = f.roomy.again(func() error {
		written, err := f.File.Write(p[n:])
		n += written
		return err
	})
	return n, err
}

func (f roomyFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.roomy.again(func() error {
		written, err := f.File.WriteAt(p[n:], off+int64(n))
		n += written
		return err
	})
	return n, err
}

func (f roomyFile) Sync() error { return f.synced(f.File.Sync()) }

func (f roomyFile) SyncData() error { return f.synced(SyncData(f.File)) }

func (f roomyFile) synced(err error) error {
	if IsFull(err) {
		f.roomy.makeRoom()
	}
	return err
}

func (f roomyFile) TryLock() error { return Lock(f.File) }

func (f roomyFile) WaitLock() error { return LockWait(f.File) }
