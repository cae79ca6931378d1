package crashfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"krund/internal/durable"
)

// file is an open file.
type file struct {
	fsys   *FS
	node   *inode
	name   string
	flag   int
	at     int
	closed bool
}

// do performs one call on the file, unless the power is cut or the file is closed.
func (f *file) do(op string, act func() (int, error)) (n int, err error) {
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	switch {
	case f.fsys.cut:
		err = ErrPowerCut
	case f.closed:
		err = fs.ErrClosed
	default:
		n, err = act()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, &fs.PathError{Op: op, Path: f.name, Err: err}
}

func (f *file) Read(p []byte) (int, error) {
	return f.do("read", func() (int, error) {
		n, err := f.read(p, f.at)
		f.at += n
		return n, err
	})
}

// ReadAt behaves like that of *os.File: reading less than len(p) returns an error.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	return f.do("read", func() (int, error) {
		if offset < 0 {
			return 0, fs.ErrInvalid
		}
		n, err := f.read(p, int(offset))
		if err == nil && n < len(p) {
			err = io.EOF
		}
		return n, err
	})
}

func (f *file) read(p []byte, offset int) (int, error) {
	switch {
	case f.flag&os.O_WRONLY != 0:
		return 0, syscall.EBADF
	case f.node.mode.IsDir():
		return 0, syscall.EISDIR
	case f.fsys.unread[f.name] != nil:
		return 0, f.fsys.unread[f.name]
	case len(p) == 0:
		return 0, nil
	case offset >= len(f.node.data):
		return 0, io.EOF
	}
	return copy(p, f.node.data[offset:]), nil
}

func (f *file) Write(p []byte) (int, error) {
	return f.do("write", func() (int, error) {
		if f.flag&os.O_APPEND != 0 {
			f.at = len(f.node.data)
		}
		n, err := f.write(p, f.at)
		f.at += n
		return n, err
	})
}

// WriteAt rejects files opened with O_APPEND, like package os.
func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	return f.do("write", func() (int, error) {
		if offset < 0 || f.flag&os.O_APPEND != 0 {
			return 0, fs.ErrInvalid
		}
		return f.write(p, int(offset))
	})
}

func (f *file) write(p []byte, offset int) (int, error) {
	if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return 0, syscall.EBADF
	}
	op := Op{Kind: Write, Name: f.name, Offset: int64(offset), Bytes: len(p),
		grows: offset+len(p) > len(f.node.data)}
	written := 0
	err := f.fsys.do(op, func(n int) {
		f.node.write(p[:n], offset)
		written = n
	})
	if errors.Is(err, ErrPowerCut) {
		written = 0
	}
	return written, err
}

// Sync of an open directory is SyncDir.
func (f *file) Sync() error {
	_, err := f.do("sync", func() (int, error) {
		if f.node.mode.IsDir() {
			return 0, f.fsys.do(Op{Kind: SyncDir, Name: f.name}, func(int) { f.node.syncEntries() })
		}
		err := f.fsys.do(Op{Kind: Sync, Name: f.name}, func(int) { f.node.sync() })
		if err != nil && !errors.Is(err, ErrPowerCut) {
			f.node.failSync()
		}
		return 0, err
	})
	return err
}

// SyncData is Sync: the simulation has no metadata that could be left out.
func (f *file) SyncData() error { return f.Sync() }

func (f *file) Stat() (found fs.FileInfo, err error) {
	_, err = f.do("stat", func() (int, error) {
		found = f.node.info(path.Base(f.name))
		return 0, nil
	})
	return found, err
}

// Close succeeds even after a cut: the process is gone, and its files with it.
func (f *file) Close() error {
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	if f.node.locked == f {
		f.node.locked = nil
	}
	return nil
}

// TryLock behaves like flock: the lock belongs to this open file.
func (f *file) TryLock() error {
	_, err := f.do("lock", func() (int, error) {
		if f.node.locked != nil && f.node.locked != f {
			return 0, durable.ErrLocked
		}
		f.node.locked = f
		return 0, nil
	})
	return err
}

// WaitLock fails when TryLock does: no other process could release the lock.
func (f *file) WaitLock() error { return f.TryLock() }
