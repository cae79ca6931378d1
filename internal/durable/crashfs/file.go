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

var (
	_ durable.File   = (*file)(nil)
	_ durable.Locker = (*file)(nil)
)

// use locks the file system and returns an error if the file cannot be used. The caller unlocks in
// either case.
func (f *file) use() error {
	f.fsys.mu.Lock()
	switch {
	case f.fsys.cut:
		return ErrPowerCut
	case f.closed:
		return fs.ErrClosed
	}
	return nil
}

func (f *file) fail(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

func (f *file) Read(p []byte) (int, error) {
	err := f.use()
	defer f.fsys.mu.Unlock()
	n := 0
	if err == nil {
		n, err = f.read(p, f.at)
		f.at += n
	}
	return n, f.fail("read", err)
}

// ReadAt behaves like that of *os.File: reading less than len(p) returns an error.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	err := f.use()
	defer f.fsys.mu.Unlock()
	n := 0
	if err == nil && offset < 0 {
		err = fs.ErrInvalid
	}
	if err == nil {
		n, err = f.read(p, int(offset))
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, f.fail("read", err)
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
	err := f.use()
	defer f.fsys.mu.Unlock()
	n := 0
	if err == nil {
		if f.flag&os.O_APPEND != 0 {
			f.at = len(f.node.data)
		}
		n, err = f.write(p, f.at)
		f.at += n
	}
	return n, f.fail("write", err)
}

// WriteAt rejects files opened with O_APPEND, like package os.
func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	err := f.use()
	defer f.fsys.mu.Unlock()
	n := 0
	if err == nil && (offset < 0 || f.flag&os.O_APPEND != 0) {
		err = fs.ErrInvalid
	}
	if err == nil {
		n, err = f.write(p, int(offset))
	}
	return n, f.fail("write", err)
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
	err := f.use()
	defer f.fsys.mu.Unlock()
	switch {
	case err != nil:
	case f.node.mode.IsDir():
		err = f.fsys.do(Op{Kind: SyncDir, Name: f.name}, func(int) { f.node.syncEntries() })
	default:
		err = f.fsys.do(Op{Kind: Sync, Name: f.name}, func(int) { f.node.sync() })
		if err != nil && !errors.Is(err, ErrPowerCut) {
			f.node.failSync()
		}
	}
	return f.fail("sync", err)
}

func (f *file) Stat() (fs.FileInfo, error) {
	err := f.use()
	defer f.fsys.mu.Unlock()
	if err != nil {
		return nil, f.fail("stat", err)
	}
	return f.node.info(path.Base(f.name)), nil
}

// Close succeeds even after a cut: the process is gone, and its files with it.
func (f *file) Close() error {
	f.fsys.mu.Lock()
	defer f.fsys.mu.Unlock()
	if f.closed {
		return f.fail("close", fs.ErrClosed)
	}
	f.closed = true
	if f.node.locked == f {
		f.node.locked = nil
	}
	return nil
}

// TryLock behaves like flock: the lock belongs to this open file.
func (f *file) TryLock() error {
	err := f.use()
	defer f.fsys.mu.Unlock()
	switch {
	case err != nil:
		return f.fail("lock", err)
	case f.node.locked != nil && f.node.locked != f:
		return durable.ErrLocked
	}
	f.node.locked = f
	return nil
}
