package crashfs_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// The ways to replace /x/f with new content. Each except the last makes one of the classic
// mistakes.
var (
	oldContent = bytes.Repeat([]byte("old "), 400) // more than three sectors
	newContent = bytes.Repeat([]byte("new!"), 500)
)

func inPlace(fsys *crashfs.FS) error {
	return open(fsys, "/x/f", os.O_WRONLY, func(f durable.File) error {
		_, err := f.Write(newContent)
		return errors.Join(err, f.Sync())
	})
}

func truncating(fsys *crashfs.FS) error {
	return open(fsys, "/x/f", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, func(f durable.File) error {
		_, err := f.Write(newContent)
		return errors.Join(err, f.Sync(), fsys.SyncDir("/x"))
	})
}

func renaming(sync, syncDir bool) func(*crashfs.FS) error {
	return func(fsys *crashfs.FS) error {
		err := open(fsys, "/x/f.tmp", os.O_WRONLY|os.O_CREATE|os.O_EXCL, func(f durable.File) error {
			_, err := f.Write(newContent)
			if err == nil && sync {
				err = f.Sync()
			}
			return err
		})
		if err == nil {
			err = fsys.Rename("/x/f.tmp", "/x/f")
		}
		if err == nil && syncDir {
			err = fsys.SyncDir("/x")
		}
		return err
	}
}

func removingFirst(fsys *crashfs.FS) error {
	if err := fsys.Remove("/x/f"); err != nil {
		return err
	}
	return renaming(true, true)(fsys)
}

func properly(fsys *crashfs.FS) error {
	return durable.WriteFile(fsys, "/x/f", newContent, 0o644)
}

func open(fsys *crashfs.FS, name string, flag int, act func(durable.File) error) error {
	f, err := fsys.OpenFile(name, flag, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(act(f), f.Close())
}

// judge returns an error unless /x/f has the old or the new content after a cut, and the new one if
// the program acknowledged it.
func judge(cut crashfs.Cut, after *crashfs.FS) error {
	got, err := durable.ReadFile(after, "/x/f")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("gone")
	case err != nil:
		return err
	case bytes.Equal(got, newContent):
		return nil
	case cut.Err == nil && bytes.Equal(got, oldContent):
		return errors.New("lost")
	case bytes.Equal(got, oldContent):
		return nil
	case len(got) == 0:
		return errors.New("empty")
	}
	return errors.New("mixed")
}

// TestFindsMistakes shows that every classic mistake is detected by its effect on the file, and
// that the correct way survives every cut.
func TestFindsMistakes(t *testing.T) {
	tests := []struct {
		name    string
		program func(*crashfs.FS) error
		want    []string // exactly what must be found
	}{
		{"in place", inPlace, []string{"mixed"}},
		{"truncate and write", truncating, []string{"empty", "mixed"}},
		{"rename without fsync", renaming(false, true), []string{"empty", "mixed"}},
		{"rename without fsync of the directory", renaming(true, false), []string{"lost"}},
		{"rename without any fsync", renaming(false, false), []string{"empty", "mixed", "lost"}},
		{"remove, then rename", removingFirst, []string{"gone"}},
		{"properly", properly, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := make(map[string]crashfs.Cut)
			for cut, after := range crashfs.EveryCut(withOldFile, test.program, crashfs.Policies(1)...) {
				if err := judge(cut, after); err != nil {
					found[err.Error()] = cut
				}
			}
			for _, want := range test.want {
				_, ok := found[want]
				must.Be(t, ok, "not found", want)
				delete(found, want)
			}
			for what, cut := range found {
				t.Errorf("%s: %s", cut, what)
			}
		})
	}
}

func withOldFile() *crashfs.FS {
	fsys := crashfs.New("/x")
	fsys.Put("/x/f", oldContent)
	return fsys
}
