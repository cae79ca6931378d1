package durable_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/durable"
	"krund/rig/must"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	got := must.Get(os.ReadFile(name))(t)
	return string(got)
}

// TestWriteReplaces: a file is replaced atomically and keeps its mode except for setuid and setgid.
func TestWriteReplaces(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must.Do(t, durable.WriteUserFile(name, text("first")))
	for _, mode := range []fs.FileMode{0o600, 0o666, 0o444, 0o755 | fs.ModeSetuid | fs.ModeSetgid} {
		must.Do(t, os.Chmod(name, mode))
		before, err := os.Stat(name)
		must.Do(t, errors.Join(err, durable.WriteUserFile(name, text("second"))))
		after := must.Get(os.Stat(name))(t)
		must.Be(t, read(t, name) == "second" && after.Mode() == mode.Perm() && !os.SameFile(before, after),
			mode, "mode", after.Mode(), "the same file", os.SameFile(before, after))
	}
	failure := errors.New("no more")
	err := durable.WriteUserFile(name, func(w io.Writer) error {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		return failure
	})
	must.Be(t, errors.Is(err, failure) && read(t, name) == "second", "after an error", err, "the file has",
		read(t, name))
	entries, err := os.ReadDir(filepath.Dir(name))
	must.Be(t, err == nil && len(entries) == 1, entries, err)
}

// TestWriteKeepsTheOwner: when root replaces a user's file, it still belongs to that user.
func TestWriteKeepsTheOwner(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(name, nil, 0o600))
	if err := os.Chown(name, 12345, 23456); err != nil {
		t.Skip("only root gives files away: ", err)
	}
	must.Do(t, durable.WriteUserFile(name, text("new")))
	info := must.Get(os.Stat(name))(t)
	st, ok := info.Sys().(*syscall.Stat_t)
	must.Be(t, ok && st.Uid == 12345 && st.Gid == 23456 && info.Mode() == 0o600, info.Sys())
}

// TestWriteToDescriptor: /dev/fd/N is the open file itself at its current offset, not another file
// of that name.
func TestWriteToDescriptor(t *testing.T) {
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer f.Close()
	must.Do(t, text("before ")(f))
	for _, dir := range []string{"/dev/fd", "/proc/self/fd"} {
		must.Do(t, durable.WriteUserFile(fmt.Sprintf("%s/%d", dir, f.Fd()), text("through ")))
	}
	must.Do(t, text("after")(f))
	must.Equal(t, read(t, f.Name()), "before through through after")
	must.Fail(t, durable.WriteUserFile("/dev/fd/999", text("")), syscall.EBADF)
}

// TestWriteError: an error of the reader of a FIFO or device mentions the name once.
func TestWriteError(t *testing.T) {
	err := durable.WriteUserFile("/dev/full", text("x"))
	must.Be(t, err != nil && err.Error() == "write /dev/full: no space left on device", err)
	missing := filepath.Join(t.TempDir(), "no", "f")
	must.Fail(t, durable.WriteUserFile(missing, text("x")), fs.ErrNotExist)
}

// TestOpen: a FIFO named as a file is rejected, but one that krunctl was started with is read.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	fifo, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "file")
	must.Do(t, errors.Join(unix.Mkfifo(fifo, 0o600), os.WriteFile(file, []byte("text"), 0o600)))
	for _, name := range []string{fifo, "/dev/zero"} {
		f, err := durable.OpenUserFile(name)
		must.Fail(t, err, durable.ErrNotRegular, name, f)
	}
	r, w, err := os.Pipe()
	must.Do(t, errors.Join(err, text("text")(w), w.Close()))
	defer r.Close()
	regular := must.Get(os.Open(file))(t)
	defer regular.Close()
	_, err = io.ReadAll(regular) // a reopened file is read from its beginning
	must.Do(t, err)
	for _, name := range []string{file, fmt.Sprintf("/dev/fd/%d", r.Fd()), fmt.Sprintf("/proc/self/fd/%d",
		regular.Fd())} {
		f := must.Get(durable.OpenUserFile(name))(t)
		got, err := io.ReadAll(f)
		must.Be(t, string(got) == "text" && err == nil, name, got, err)
		must.Do(t, f.Close())
	}
	for name, want := range map[string]bool{"/dev/stdin": true, "/dev/fd/0": true, "/dev/fd/x": false,
		"/dev/null": false, "f": false, "": false} {
		must.Equal(t, durable.IsDescriptor(name), want, name)
	}
}
