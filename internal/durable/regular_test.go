package durable_test

import (
	"errors"
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
