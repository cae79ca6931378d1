package durable

import (
	"errors"
	"io/fs"
	"syscall"
)

// IsFull reports whether err means that no space is left, on the disk or in the user's quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// WithRoom returns an FS that frees space when an operation finds none, and then continues the
// operation. makeRoom reports whether it freed some space. It is called until it returns false, so
// it must do so eventually. It must not use the returned FS.
//
// A Sync that finds no space cannot be repeated: space is freed, but the error is returned.
func WithRoom(fsys FS, makeRoom func() bool) FS { return roomy{FS: fsys, makeRoom: makeRoom} }

type roomy struct {
	FS
	makeRoom func() bool
}

// again repeats do while it finds no space and some can be freed.
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
