package crashfs_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

var seed = flag.Uint64("seed", 1, "of the random tests")

// TestConforms performs the same random operations on the simulation and on the system's file
// system, and compares every result.
func TestConforms(t *testing.T) {
	t.Logf("-seed %d", *seed)
	const rounds, steps = 30, 200
	for round := range uint64(rounds) {
		sim := &walker{fsys: crashfs.New("/x"), dir: "/x", chance: rand.New(rand.NewPCG(*seed, round))}
		sys := &walker{fsys: durable.OS(), dir: t.TempDir(), chance: rand.New(rand.NewPCG(*seed, round))}
		for step := range steps {
			got, want := sim.step(), sys.step()
			must.Need(t, got == want, "round", round, "step", step, "simulation", got, "system", want)
		}
		must.Do(t, errors.Join(sim.closeAll(), sys.closeAll()))
	}
}

// walker performs random operations in one directory and reports their results.
type walker struct {
	fsys   durable.FS
	dir    string
	chance *rand.Rand
	files  []durable.File
}

func (w *walker) name() string {
	names := []string{"a", "b", "c", "d", "d/a", "d/b", "a/none", "none/a"}
	return names[w.chance.IntN(len(names))]
}

func (w *walker) path(name string) string { return filepath.Join(w.dir, name) }

func (w *walker) step() string {
	switch w.chance.IntN(12) {
	case 0, 1:
		return w.open()
	case 2:
		a, b := w.name(), w.name()
		if filepath.Dir(a) != filepath.Dir(b) {
			return "not simulated"
		}
		return result("rename "+a+" "+b, w.fsys.Rename(w.path(a), w.path(b)))
	case 3:
		a := w.name()
		return result("remove "+a, w.fsys.Remove(w.path(a)))
	case 4:
		a := w.name()
		return result("mkdir "+a, w.fsys.Mkdir(w.path(a), 0o755))
	case 5:
		return w.list()
	case 6:
		a := w.name()
		info, err := w.fsys.Lstat(w.path(a))
		return describe(info, err)
	case 7:
		a := w.name()
		return result("syncdir "+a, w.fsys.SyncDir(w.path(a)))
	}
	return w.useFile()
}

func (w *walker) open() string {
	flags := []int{
		os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_EXCL,
		os.O_RDWR | os.O_CREATE | os.O_TRUNC, os.O_WRONLY | os.O_APPEND | os.O_CREATE,
	}
	a, flag := w.name(), flags[w.chance.IntN(len(flags))]
	f, err := w.fsys.OpenFile(w.path(a), flag, 0o644)
	if err == nil {
		w.files = append(w.files, f)
	}
	return result(fmt.Sprintf("open %s %x", a, flag), err)
}

func (w *walker) list() string {
	a := []string{"", "d", "a"}[w.chance.IntN(3)]
	entries, err := w.fsys.ReadDir(w.path(a))
	text := result("readdir "+a, err)
	for _, e := range entries {
		text += " " + e.Name() + " " + e.Type().String()
	}
	return text
}

func (w *walker) useFile() string {
	if len(w.files) == 0 {
		return "no file"
	}
	i := w.chance.IntN(len(w.files))
	f := w.files[i]
	data := make([]byte, w.chance.IntN(1500))
	for j := range data {
		data[j] = byte('a' + w.chance.IntN(26))
	}
	offset := int64(w.chance.IntN(2000))
	switch w.chance.IntN(7) {
	case 0:
		n, err := f.Write(data)
		return result(fmt.Sprintf("write %d", n), err)
	case 1:
		n, err := f.WriteAt(data, offset)
		return result(fmt.Sprintf("writeat %d", n), err)
	case 2:
		n, err := f.ReadAt(data, offset)
		return result(fmt.Sprintf("readat %d %q", n, data[:n]), err)
	case 3:
		n, err := io.ReadFull(f, data)
		return result(fmt.Sprintf("read %d %q", n, data[:n]), err)
	case 4:
		return result("sync", f.Sync())
	case 5:
		info, err := f.Stat()
		return describe(info, err)
	}
	w.files = append(w.files[:i], w.files[i+1:]...)
	return result("close", f.Close()) + result("close again", f.Close())
}

func (w *walker) closeAll() (err error) {
	for _, f := range w.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func describe(info fs.FileInfo, err error) string {
	if err != nil {
		return result("stat", err)
	}
	if info.IsDir() {
		return fmt.Sprintf("stat %s %s", info.Name(), info.Mode())
	}
	return fmt.Sprintf("stat %s %s %d", info.Name(), info.Mode(), info.Size())
}

// result returns the name of an error by the conditions that programs test for.
func result(what string, err error) string {
	if err == nil {
		return what + ": ok"
	}
	for _, known := range []error{
		io.ErrUnexpectedEOF, io.EOF, fs.ErrNotExist, fs.ErrClosed,
		syscall.ENOTEMPTY, syscall.ENOTDIR, syscall.EISDIR, syscall.EBADF, fs.ErrExist,
	} {
		if errors.Is(err, known) {
			return what + ": " + known.Error()
		}
	}
	return what + ": refused"
}
