//go:build unix

package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/rig/must"
)

// TestInside: names below the directory refer to the directory that was opened, whatever is at its
// path now.
func TestInside(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "x.krun")
	check := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	check(os.MkdirAll(filepath.Join(dir, "results"), 0o755))
	check(os.WriteFile(filepath.Join(dir, "old"), []byte("mine"), 0o644))
	fsys, err := durable.Inside(durable.OS(), dir)
	check(err)
	check(os.Rename(dir, dir+".moved"))
	check(os.MkdirAll(filepath.Join(dir, "results"), 0o755))
	check(os.WriteFile(filepath.Join(dir, "old"), []byte("another's"), 0o644))

	text, err := durable.ReadFile(fsys, dir+"/old")
	must.Be(t, err == nil && string(text) == "mine", "read", text, err)
	check(durable.WriteFile(fsys, dir+"/new", []byte("text"), 0o644))
	check(fsys.Mkdir(dir+"/results/sub", 0o755))
	check(fsys.Rename(dir+"/old", dir+"/results/old"))
	check(fsys.SyncDir(dir))
	must.Fail(t, fsys.Mkdir(dir, 0o755), fs.ErrExist, "make the directory itself")
	entries, err := fsys.ReadDir(dir + "/results")
	must.Be(t, err == nil && len(entries) == 2, "results", entries, err)
	check(fsys.Remove(dir + "/results/old"))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 { // old, results
		t.Errorf("the directory that has taken the name: %v, %v", entries, err)
	}
	here, err := fsys.Lstat(dir)
	check(err)
	moved, err := os.Stat(dir + ".moved")
	must.Be(t, err == nil && os.SameFile(here, moved), "Lstat describes", here, "not", moved)
	check(os.Symlink("/etc/passwd", dir+".moved/link"))
	_, err = fsys.OpenFile(dir+"/link", os.O_WRONLY, 0)
	must.Fail(t, err, syscall.ELOOP, "write through a link")
	must.Get(fsys.OpenFile(dir+"/../outside", os.O_WRONLY|os.O_CREATE, 0o644))(t, "another name")
	_, err = fsys.OpenFile(dir+"/none", os.O_RDONLY, 0)
	must.Be(t, errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), dir+"/none"), "a missing file",
		err)
}

// TestInsideTheWorkingDirectory: relative names without a directory refer to the directory as well.
func TestInsideTheWorkingDirectory(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"here", "elsewhere"} {
		must.Do(t, os.Mkdir(filepath.Join(base, name), 0o755))
	}
	must.Do(t, os.Symlink(filepath.Join(base, "elsewhere"), filepath.Join(base, "here", "link")))
	t.Chdir(filepath.Join(base, "here"))
	fsys := must.Get(durable.Inside(durable.OS(), "."))(t)
	must.Do(t, durable.WriteFile(fsys, "file", []byte("text"), 0o644))
	must.Refuse(t, fsys.Mkdir("link/results", 0o755), "", "a link leads out of the directory")
}
