package sysroot

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"krund/rig/must"
)

func TestSet(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "12345\n"})
	got, err := r.Set("/proc/v", "2", nil)
	must.Need(t, got == "2" && err == nil, "Set", got, err)
	if data, _ := r.ReadBytes("/proc/v"); string(data) != "2\n" {
		t.Errorf("file holds %q, want the value as echo writes it and nothing of the longer old one", data)
	}
}

func TestSetNeverCreates(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "1\n"})
	_, err := r.Set("/proc/none", "1", nil)
	must.Fail(t, err, fs.ErrNotExist, "error", "want fs.ErrNotExist")
	must.Be(t, !r.Exists("/proc/none"), "Set created the file")
}

// refusing is a kernel that returns err for reads or writes, or accepts a write but keeps its own
// value.
type refusing struct {
	OS
	read, write error
	keep        bool
}

func (a refusing) ReadFile(path string) ([]byte, error) {
	if a.read != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: a.read}
	}
	return a.OS.ReadFile(path)
}

func (a refusing) WriteFile(path string, data []byte) error {
	if a.write != nil {
		return &fs.PathError{Op: "write", Path: path, Err: a.write}
	}
	if a.keep {
		return nil
	}
	return a.OS.WriteFile(path, data)
}

func TestSetReportsTheKernelsError(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "1\n"})
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EINVAL, syscall.EIO, syscall.EBUSY} {
		_, err := r.With(refusing{write: errno}).Set("/proc/v", "2", nil)
		must.Be(t, errors.Is(err, errno) && strings.Contains(err.Error(), "/proc/v"), "refused write", err,
			"want one with", errno, "and the name")
		_, err = r.With(refusing{read: errno}).Set("/proc/v", "2", nil)
		must.Fail(t, err, errno, "refused read-back", "want one with")
	}
}

func TestSetReportsAMismatchWithBothValues(t *testing.T) {
	r := tree(t, map[string]string{"proc/v": "1\n"}).With(refusing{keep: true})
	got, err := r.Set("/proc/v", "2", nil)
	m, ok := errors.AsType[*Mismatch](err)
	must.Need(t, ok && m.Wrote == "2" && m.Read == "1" && m.Name == "/proc/v" && got == "1", "Set", got, err,
		"want a Mismatch of 2 and 1")
	must.Be(t, strings.Contains(err.Error(), `"2"`) && strings.Contains(err.Error(), `"1"`), "message", err,
		"lacks a value")
}

func TestSetComparesWhatTheFileShows(t *testing.T) {
	upper := func(text string) string { return strings.ToUpper(strings.TrimSpace(text)) }
	r := tree(t, map[string]string{"proc/v": "ON\n"}).With(refusing{keep: true})
	must.Get(r.Set("/proc/v", "on", upper))(t, "values that show the same")
}

func TestReadDoesNotWaitForABrokenDriver(t *testing.T) {
	r := tree(t, map[string]string{"sys/temp1_input": "1\n"}).With(refusing{read: syscall.EAGAIN})
	_, err := r.Read("/sys/temp1_input")
	must.Fail(t, err, syscall.EAGAIN, "error", "want EAGAIN")
}

// TestReadOfAnEmptyPipe uses a real descriptor: a read that would block returns EAGAIN at once,
// where os.ReadFile would wait.
func TestReadOfAnEmptyPipe(t *testing.T) {
	fds := make([]int, 2)
	must.Do(t, syscall.Pipe(fds))
	t.Cleanup(func() { _ = syscall.Close(fds[0]); _ = syscall.Close(fds[1]) })
	must.Do(t, syscall.SetNonblock(fds[0], true))
	n, err := Uninterrupted(func() (int, error) { return syscall.Read(fds[0], make([]byte, 8)) })
	must.Fail(t, err, syscall.EAGAIN, "read =", n, "want EAGAIN")
}

func TestDeviceAccess(t *testing.T) {
	r := tree(t, map[string]string{"dev/msr": strings.Repeat("\x00", 64)})
	must.Do(t, r.WriteAt("/dev/msr", []byte{1, 2, 3, 4}, 16))
	got := make([]byte, 4)
	err := r.ReadAt("/dev/msr", got, 16)
	must.Be(t, err == nil && string(got) == "\x01\x02\x03\x04", "ReadAt =", got, err)
	must.Refuse(t, r.ReadAt("/dev/msr", got, 62), "", "a short read gave no error")
	must.Fail(t, r.WriteAt("/dev/none", got, 0), fs.ErrNotExist, "missing device")
}

func TestHold(t *testing.T) {
	r := tree(t, map[string]string{"dev/cpu_dma_latency": "...."})
	c := must.Get(r.Hold("/dev/cpu_dma_latency", []byte{0, 0, 0, 0}))(t)
	data, _ := r.ReadBytes("/dev/cpu_dma_latency")
	must.Equal(t, string(data), "\x00\x00\x00\x00", "device holds", data)
	must.Do(t, c.Close())
	_, err := r.Hold("/dev/none", nil)
	must.Fail(t, err, fs.ErrNotExist, "missing device")
}

func TestDirectories(t *testing.T) {
	r := New(t.TempDir())
	must.Do(t, r.Mkdir("/group"))
	must.Fail(t, r.Mkdir("/group"), fs.ErrExist, "second Mkdir", "want fs.ErrExist")
	must.Do(t, os.WriteFile(r.Path("/group/x"), nil, 0o644))
	must.Refuse(t, r.Rmdir("/group"), "", "Rmdir removed a directory that is not empty")
	must.Do(t, os.Remove(r.Path("/group/x")))
	for range 2 {
		must.Do(t, r.Rmdir("/group"))
	}
}
