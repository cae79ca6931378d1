package account

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// testUID is a user that no machine should have. Its processes are killed.
const testUID = 54321

func needRoot(t *testing.T) {
	t.Helper()
	must.Root(t, "needs root")
}

// TestOwnedDeep: others' directories are passed through, and the account's own go, however deep.
func TestOwnedDeep(t *testing.T) {
	needRoot(t)
	dir := top(t)
	for _, name := range []string{"theirs", "theirs/mine", "theirs/mine/keep"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, name), 0o777))
	}
	mine := filepath.Join(dir, "theirs/mine")
	dig(t, mine, 3*maxOpen, "d")
	at := must.Get(openRoot(dir))(t)
	for name := "theirs"; ; name = "d" {
		next, err := at.open(name)
		if errors.Is(err, unix.ENOENT) {
			break
		}
		if err == nil && name != "theirs" {
			err = unix.Fchown(next.fd(), testUID, testUID)
		}
		if name == "theirs" && err == nil {
			at = next
			next, err = at.open("mine")
			err = errors.Join(err, unix.Fchown(next.fd(), testUID, testUID))
		}
		if err = errors.Join(err, at.close()); err != nil {
			t.Fatal(err)
		}
		at = next
	}
	must.Do(t, at.close())
	removed, err := removeOwned(t.Context(), dir, testUID)
	must.Be(t, removed == 3*maxOpen && err != nil && errors.Is(err, unix.ENOTEMPTY), "removed", removed, err,
		3*maxOpen, "and that", mine, "is not empty")
	must.Be(t, exists(t, filepath.Join(mine, "keep")) && !exists(t, filepath.Join(mine, "d")),
		"the wrong files were removed")
}

// TestMounts: nothing on another mount is touched, of another file system or of the same one.
func TestMounts(t *testing.T) {
	needRoot(t)
	dir, outside := top(t), t.TempDir()
	write(t, filepath.Join(outside, "kept"))
	for name, mount := range map[string]func(at string) error{
		"tmpfs": func(at string) error { return unix.Mount("test", at, "tmpfs", 0, "size=64k") },
		"bind":  func(at string) error { return unix.Mount(outside, at, "", unix.MS_BIND, "") },
	} {
		at := filepath.Join(dir, name)
		must.Do(t, os.Mkdir(at, 0o755))
		if err := mount(at); err != nil {
			t.Skipf("cannot mount: %v", err)
		}
		t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		write(t, filepath.Join(at, "kept"))
	}
	_, err := removeTree(t.Context(), dir)
	must.Be(t, errors.Is(err, errMount) && strings.Contains(err.Error(), "unmount it"), err)
	n, err := removeOwned(t.Context(), dir, 0)
	must.Be(t, n == 0 && errors.Is(err, errMount), "removed", n, err, "the user may have files there")
	for _, at := range []string{filepath.Join(dir, "tmpfs"), outside} {
		must.Do(t, os.Chmod(at, 0o755))
	}
	n, err = removeOwned(t.Context(), dir, testUID)
	must.Be(t, n == 0 && err == nil, "removed", n, err, "the user cannot have files there")
	for _, name := range []string{"tmpfs/kept", "bind/kept"} {
		must.Be(t, exists(t, filepath.Join(dir, name)), name, "is gone")
	}
}

func TestOwned(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	at := func(name string) string { return filepath.Join(dir, name) }
	own := func(name string) {
		t.Helper()
		must.Do(t, os.Lchown(name, testUID, testUID))
	}
	for _, sub := range []string{"mine", "mine/deep", "mine/mixed", "theirs", "theirs/open"} {
		must.Do(t, os.Mkdir(at(sub), 0o777))
	}
	for _, file := range []string{
		at("mine/a"), at("mine/deep/b"), at("mine/mixed/keep"), at("theirs/keep"),
		at("theirs/open/c"), outside,
	} {
		must.Do(t, os.WriteFile(file, nil, 0o600))
	}
	must.Do(t, errors.Join(os.Symlink(outside, at("mine/link")), os.Symlink("/", at("theirs/root")),
		syscall.Mkfifo(at("fifo"), 0o600)))
	for _, name := range []string{
		"mine", "mine/deep", "mine/mixed", "mine/a", "mine/deep/b", "mine/link", "theirs/open/c", "fifo",
	} {
		own(at(name))
	}
	own(outside)
	own(outside)
	link := filepath.Join(t.TempDir(), "link") // as /var/spool/mail is one
	must.Do(t, os.Symlink(dir, link))
	removed, err := removeOwned(t.Context(), link, testUID)
	// The directories that hold what belongs to others stay, and that is an error to report.
	must.Be(t, removed == 6 && err != nil, "removed", removed, err)
	for name, want := range map[string]bool{
		"mine/a": false, "mine/deep": false, "mine/link": false, "theirs/open/c": false, "fifo": false,
		"mine/mixed/keep": true, "theirs/keep": true, "theirs/root": true, "theirs/open": true,
	} {
		_, err := os.Lstat(at(name))
		must.Equal(t, (err == nil), want, name, "there", err == nil)
	}
	must.Get(os.Stat(outside))(t, "a link was followed")
	n, err := removeOwned(t.Context(), filepath.Join(dir, "absent"), testUID)
	must.Be(t, n == 0 && err == nil, "no such directory", n, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = removeOwned(ctx, dir, testUID)
	must.Fail(t, err, context.Canceled, "cancelled")
}
