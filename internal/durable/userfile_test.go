package durable_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
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

// zeros is a reader of that many zero bytes.
type zeros int64

func (z *zeros) Read(p []byte) (int, error) {
	n := min(int64(*z), int64(len(p)))
	*z -= zeros(n)
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	return int(n), nil
}

func TestBound(t *testing.T) {
	const all = 1 << 40
	for _, c := range []struct {
		name           string
		packed         int   // bytes that the decompressor reads at once
		size           int64 // expected size
		unpacked, most int64
		want           int64 // Most of the error; 0 for no error
		tells          int64 // Packed of the error
	}{
		{"small", 10, 10, durable.SmallUnpacked, all, 0, 0},
		{"dense", 10, 10, durable.SmallUnpacked + 1, all, durable.SmallUnpacked, 10},
		{"dense, of unknown size", 10, 0, durable.SmallUnpacked + 1, all, durable.SmallUnpacked, 10},
		{"as dense as it may be", durable.SmallUnpacked / durable.UnpackRatio * 2, 0,
			durable.SmallUnpacked/durable.UnpackRatio*2*durable.UnpackRatio - 1, all, 0, 0},
		{"dense at its beginning", 10, durable.SmallUnpacked, 2 * durable.SmallUnpacked, all, 0, 0},
		{"large", durable.SmallUnpacked, 0, durable.SmallUnpacked + 1, durable.SmallUnpacked,
			durable.SmallUnpacked, 0},
	} {
		in := durable.NewPackedInput(bytes.NewReader(make([]byte, c.packed)), c.size)
		must.Get(io.ReadFull(in, make([]byte, c.packed)))(t)
		unpacked := zeros(c.unpacked)
		n, err := io.Copy(io.Discard, in.Bound(&unpacked, c.most))
		var size *durable.UnpackError
		switch {
		case c.want == 0:
			must.Be(t, err == nil && n == c.unpacked, c.name, n, "bytes", err)
		case !errors.As(err, &size) || size.Most != c.want || size.Packed != c.tells || n > c.want:
			t.Errorf("%s: %d bytes, %v", c.name, n, err)
		}
	}
}

// TestInputReadsNoFurther: gzip does not consume what follows its data.
func TestInputReadsNoFurther(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	must.Get(io.WriteString(z, strings.Repeat("text ", 1000)))(t)
	must.Do(t, z.Close())
	packed.WriteString("rest")
	in := durable.NewPackedInput(&packed, int64(packed.Len()))
	magic, err := in.Peek(2)
	must.Need(t, err == nil && magic[0] == 0x1f, magic, err)
	r := must.Get(gzip.NewReader(in))(t)
	r.Multistream(false)
	text, err := io.ReadAll(in.Bound(r, 1<<20))
	must.Be(t, err == nil && len(text) == 5000, len(text), "bytes", err)
	rest, err := io.ReadAll(in)
	must.Be(t, err == nil && string(rest) == "rest", rest, err)
}

// TestOnlyRegularFiles: anything other than a regular file is rejected, for reading and for
// writing, without blocking.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, socket, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	must.Do(t, errors.Join(unix.Mkfifo(fifo, 0o600), os.Symlink(fifo, link)))
	l := must.Get(net.Listen("unix", socket))(t)
	defer l.Close()
	for name, what := range map[string]string{fifo: "a FIFO", link: "a FIFO", socket: "a socket",
		os.DevNull: "a character device", dir: "is a directory"} {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE,
			os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
			f, err := durable.OS().OpenFile(name, flag, 0o600)
			if err == nil && name == dir && flag == os.O_RDONLY { // it can be opened, but reading fails
				_ = f.Close()
				continue
			}
			if err == nil {
				t.Errorf("%s was opened with %#x", name, flag)
				_ = f.Close()
				continue
			}
			must.Be(t, (errors.Is(err, durable.ErrNotRegular) || errors.Is(err, syscall.EISDIR)) &&
				strings.Contains(err.Error(), what) && strings.Contains(err.Error(), name), name, "with",
				flag, err)
		}
		must.Refused(durable.ReadFile(durable.OS(), name))(t, "", name, "was read")
		if name == link {
			continue // it replaces the link, but not the FIFO
		}
		before, err := os.Lstat(name)
		must.Do(t, err)
		err = durable.WriteFile(durable.OS(), name, []byte("x"), 0o600)
		after, statErr := os.Lstat(name)
		must.Be(t, errors.Is(err, durable.ErrNotRegular) && statErr == nil && after.Mode() == before.Mode(),
			"write", name, err, "and it is", after.Mode(), statErr)
	}
	if names := list(t, "/dev"); strings.Contains(strings.Join(names, " "), "null.tmp") {
		t.Error("there is a temporary file beside /dev/null")
	}
}

// TestReadFileIsBounded: a sparse file does not exhaust memory.
func TestReadFileIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sparse")
	write(t, name, "")
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	must.Refused(durable.ReadFile(durable.OS(), name))(t, name+": it has more than ")
}
