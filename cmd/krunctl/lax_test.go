package main

import (
	"io/fs"

	"krund/internal/durable"
)

// laxFS is the system's FS without syncs: these tests write thousands of files, and power cuts do
// not matter.
type laxFS struct{ durable.FS }

func lax() durable.FS { return laxFS{durable.OS()} }

func (l laxFS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := l.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return laxFile{f}, nil
}

func (laxFS) SyncDir(string) error { return nil }

type laxFile struct{ durable.File }

func (laxFile) Sync() error { return nil }

func (l laxFile) TryLock() error { return durable.Lock(l.File) }

func (l laxFile) WaitLock() error { return durable.LockWait(l.File) }
