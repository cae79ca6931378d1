//go:build unix

package trust

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// Two user IDs that do not occur on the test machines.
const (
	alice   = 4711
	mallory = 4712
)

// tree creates a directory that only root can change, with srv/exp/file in it.
func tree(t *testing.T) string {
	t.Helper()
	must.Root(t, "only root can give files to other users")
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "srv/exp"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "srv/exp/file"), []byte("root's"), 0o644))
	return dir
}

func TestVerdict(t *testing.T) {
	tests := []struct {
		name           string
		change         func(srv string) error
		rootOnly, hand string // parts of the errors; "" for none
	}{
		{"root's alone", func(string) error { return nil }, "", ""},
		{"file for all", func(s string) error { return os.Chmod(s+"/exp/file", 0o666) },
			"exp/file can be changed", "exp/file can be changed"},
		{"file for a group", func(s string) error { return os.Chmod(s+"/exp/file", 0o664) }, "(mode 0664)",
			"(mode 0664)"},
		{"directory for all", func(s string) error { return os.Chmod(s+"/exp", 0o777) }, "chmod go-w",
			"chmod go-w"},
		{"one above for all", func(s string) error { return os.Chmod(s, 0o777) }, "srv can be changed",
			"srv can be changed"},
		{"a sticky one above", func(s string) error { return os.Chmod(s, 0o777|fs.ModeSticky) }, "", ""},
		{"alice's file", func(s string) error { return os.Chown(s+"/exp/file", alice, 0) },
			"belongs to user 4711", ""},
		{"alice's directory", func(s string) error { return os.Chown(s+"/exp", alice, 0) }, "`chown root ",
			""},
		{"alice's above", func(s string) error { return os.Chown(s, alice, 0) }, "srv belongs to user 4711",
			""},
		{"alice's link", func(s string) error {
			return errors.Join(os.Rename(s+"/exp", s+"/real"), os.Symlink("real", s+"/exp"),
				os.Lchown(s+"/exp", alice, 0))
		}, "`chown -h root ", ""},
		{"two users'", func(s string) error {
			return errors.Join(os.Chown(s, alice, 0), os.Chown(s+"/exp/file", mallory, 0))
		}, "belongs to user 4711", "file to user 4712"},
		{"a link to it", func(s string) error {
			return errors.Join(os.Rename(s+"/exp", s+"/real"), os.Symlink("real", s+"/exp"))
		}, "", ""},
		{"an absolute link of alice's", func(s string) error {
			return errors.Join(os.Rename(s+"/exp", s+"/real"), os.Symlink(s+"/real", s+"/exp"),
				os.Lchown(s+"/exp", alice, 0))
		}, "exp belongs to user 4711", ""},
		{"alice's link in a sticky directory", func(s string) error {
			return errors.Join(os.Rename(s+"/exp", s+"/real"), os.Symlink("real", s+"/exp"),
				os.Lchown(s+"/exp", alice, 0), os.Chmod(s, 0o777|fs.ModeSticky))
		}, "exp belongs to user 4711", "exp is a link of user 4711 in a directory that all users can " +
			"write; `rm "},
		{"root's link in a sticky directory", func(s string) error {
			return errors.Join(os.Rename(s+"/exp", s+"/real"), os.Symlink("real", s+"/exp"),
				os.Chmod(s, 0o777|fs.ModeSticky))
		}, "", ""},
		{"a link through a directory for all", func(s string) error {
			return errors.Join(os.Mkdir(s+"/open", 0o755), os.Chmod(s+"/open", 0o777),
				os.Rename(s+"/exp", s+"/real"), os.Symlink("open/../real", s+"/exp"))
		}, "open can be changed", "open can be changed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			srv := filepath.Join(tree(t), "srv")
			must.Do(t, test.change(srv))
			file, opened := must.Get2(Open(srv + "/exp/file"))(t)
			text, err := io.ReadAll(file)
			if must.Do(t, file.Close()); err != nil || string(text) != "root's" {
				t.Errorf("read %q, %v", text, err)
			}
			looked := must.Get(Look(srv + "/exp/file"))(t)
			for _, v := range []Verdict{opened, looked} {
				for rule, is := range map[string][2]string{"root only": {test.rootOnly,
					message(v.RootOnly())}, "one owner": {test.hand, message(v.OneOwner())}} {
					want, got := is[0], is[1]
					must.Be(t, (want == "") == (got == "") && strings.Contains(got, want), rule, got, "want",
						want)
				}
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestMissingFile: the path to a missing file is judged, too.
func TestMissingFile(t *testing.T) {
	srv := filepath.Join(tree(t), "srv")
	must.Do(t, os.Chmod(srv, 0o777))
	v, err := Look(srv + "/new/file")
	must.Be(t, errors.Is(err, fs.ErrNotExist) && v.RootOnly() != nil, err, "verdict", v.RootOnly())
	_, _, err = Open(srv + "/new")
	must.Be(t, errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), srv+"/new"), "open", err)
	must.Do(t, os.Symlink("loop", srv+"/loop"))
	_, err = Look(srv + "/loop")
	must.Fail(t, err, unix.ELOOP, "a link to itself")
}

// TestNoFile: only regular files are opened, and opening a pipe does not block.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	must.Do(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	for _, name := range []string{dir, filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), "/dev/null"} {
		_, _, err := Open(name)
		must.Fail(t, err, ErrNotFile, name)
	}
}

// TestNoDescriptorLeaks: no code path leaks a descriptor.
func TestNoDescriptorLeaks(t *testing.T) {
	srv := filepath.Join(tree(t), "srv")
	before := descriptors(t)
	for _, name := range []string{"exp/file", "exp/none", "exp", "none/none", "exp/file/none"} {
		for range 10 {
			_, _ = Look(filepath.Join(srv, name))
			if file, _, err := Open(filepath.Join(srv, name)); err == nil {
				must.Do(t, file.Close())
			}
		}
	}
	after := descriptors(t)
	must.Be(t, after <= before, after, "descriptors, before", before)
}

func descriptors(t *testing.T) int {
	t.Helper()
	list := must.Get(os.ReadDir("/dev/fd"))(t)
	return len(list)
}
