package sysroot

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxFile is the maximum size in bytes of a file that ReadFile returns. /proc/interrupts of a
// machine with a thousand CPUs is a few MiB.
const maxFile = 64 << 20

// Access is how a Root accesses files. Paths are those of this process. OS is the real
// implementation. Tests embed OS and override the methods that should fail.
type Access interface {
	// ReadFile returns the whole file.
	ReadFile(path string) ([]byte, error)
	// WriteFile overwrites an existing file with a single write; it never creates a file.
	WriteFile(path string, data []byte) error
	// ReadAt and WriteAt transfer exactly len(data) bytes at an offset of a device.
	ReadAt(path string, data []byte, offset int64) error
	WriteAt(path string, data []byte, offset int64) error
	// Hold writes data and keeps the file open until Close, because some devices honor a request
	// only while they are open.
	Hold(path string, data []byte) (io.Closer, error)
	// Mkdir and Rmdir create and remove a directory; in a cgroup file system, a cgroup.
	Mkdir(path string) error
	Rmdir(path string) error
}

// OS accesses the files of the machine.
type OS struct{}

// ReadFile reads to the end with plain read calls. os.ReadFile would pass a sysfs file to the
// runtime's poller and block forever if a driver returns EAGAIN, as broken temperature sensors do.
func (OS) ReadFile(path string) ([]byte, error) {
	fd, err := open(path, syscall.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = syscall.Close(fd) }() // read-only: closing cannot lose data
	data := make([]byte, 0, 4096)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := Uninterrupted(func() (int, error) { return syscall.Read(fd, data[len(data):cap(data)]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return data, nil
		}
		if data = data[:len(data)+n]; len(data) > maxFile {
			return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("longer than 64 MiB")}
		}
	}
}

// ReadOnly uses access(2), which returns EROFS to every user.
func (OS) ReadOnly(path string) bool { return errors.Is(unix.Access(path, unix.W_OK), unix.EROFS) }

// WriteFile opens an existing file with O_WRONLY|O_TRUNC and writes data in one call, like a
// shell's echo: the kernel treats each write to such a file as one complete value.
func (OS) WriteFile(path string, data []byte) error {
	fd, err := open(path, syscall.O_WRONLY|syscall.O_TRUNC)
	if err != nil {
		return err
	}
	n, err := Uninterrupted(func() (int, error) { return syscall.Write(fd, data) })
	if err == nil && n != len(data) {
		err = io.ErrShortWrite
	}
	if cerr := syscall.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	return nil
}

// ReadAt reads from a device at an offset.
func (OS) ReadAt(path string, data []byte, offset int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = f.ReadAt(data, offset)
	return errors.Join(err, f.Close())
}

// WriteAt writes to a device at an offset.
func (OS) WriteAt(path string, data []byte, offset int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, offset)
	return errors.Join(err, f.Close())
}

// Hold opens a device, writes to it and keeps it open.
func (OS) Hold(path string, data []byte) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Mkdir creates a directory.
func (OS) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

// Rmdir removes an empty directory; in a cgroup file system, a cgroup without processes and
// children.
func (OS) Rmdir(path string) error {
	if err := syscall.Rmdir(path); err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func open(path string, flag int) (int, error) {
	fd, err := Uninterrupted(func() (int, error) { return syscall.Open(path, flag|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// Uninterrupted makes a system call until no signal interrupts it.
func Uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// A Clock is the time and waiting. Tests pass one that does not wait.
type Clock interface {
	// Now is the wall clock. It must carry a monotonic reading: waiting is bounded in real time.
	Now() time.Time
	// Sleep returns nil after d, or ctx's error as soon as ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// RealClock is the system's clock.
type RealClock struct{}

// Now returns the wall clock time with a monotonic reading.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep returns nil after d, or ctx's error as soon as ctx is done. If d is not positive, it only
// checks ctx.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
