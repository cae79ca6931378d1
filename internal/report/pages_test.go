package report

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// makeReport writes files with a text each as a report does, index.html last.
func makeReport(fsys durable.FS, text string, names ...string) error {
	p := &pageDirectory{fsys: fsys, dir: "/report"}
	for _, name := range append(names, "index.html") {
		if err := p.put(name, []byte(text)); err != nil {
			return errors.Join(err, p.sweep())
		}
	}
	return p.finish()
}

func filesOf(fsys *crashfs.FS) map[string]string {
	files := map[string]string{}
	for name, text := range fsys.Files() {
		if filepath.Base(name) != manifestName {
			files[strings.TrimPrefix(name, "/report/")] = string(text)
		}
	}
	return files
}

// TestReportDirectory: a smaller report in the place of a larger one leaves nothing of it, and
// everything that is not of it.
func TestReportDirectory(t *testing.T) {
	fsys := crashfs.New("/report")
	mine := map[string]string{"notes.txt": "mine", "keys/k9999.html": "mine", "data/k0001.js.tmp": "mine",
		"assets/logo.svg": "mine"}
	for name, text := range mine {
		fsys.Put("/report/"+name, []byte(text))
	}
	must := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	must(makeReport(fsys, "old", "keys/k0000.html", "keys/k0001.html", "keys/k0002.html", "data/k0001.js"))
	fsys.Put("/report/keys/k0002.html", []byte("changed by hand"))
	must(fsys.Remove("/report/data/k0001.js"))
	must(makeReport(fsys, "new", "keys/k0000.html"))
	want := maps.Clone(mine)
	maps.Copy(want, map[string]string{"keys/k0000.html": "new", "index.html": "new",
		"keys/k0002.html": "changed by hand"})
	if got := filesOf(fsys); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if text := string(fsys.Files()["/report/"+manifestName]); strings.Count(text, "\n") != 2 ||
		strings.Contains(text, "k0002") {
		t.Errorf("manifest %s", text)
	}
}

// TestReportDirectoryManifest: a forged manifest removes nothing outside the
// report, nor what has another content.
func TestReportDirectoryManifest(t *testing.T) {
	fsys := crashfs.New("/report")
	fsys.Put("/outside", []byte("mine"))
	fsys.Put("/report/other/file", []byte("mine"))
	fsys.Put("/report/keys/k1.html", []byte("mine"))
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("mine")))
	other := fmt.Sprintf("%x", sha256.Sum256([]byte("other")))
	lines := []string{sum + "  ../outside", sum + "  other/file", sum + "  /outside",
		sum + "  keys/../../outside", other + "  keys/k1.html", "nonsense", sum + "  keys"}
	fsys.Put("/report/"+manifestName, []byte(strings.Join(lines, "\n")))
	must.Do(t, makeReport(fsys, "new", "keys/k0.html"))
	names := slices.Sorted(maps.Keys(filesOf(fsys)))
	if want := []string{"/outside", "index.html", "keys/k0.html", "keys/k1.html",
		"other/file"}; !slices.Equal(names, want) {
		t.Errorf("got %v", names)
	}
}

// TestReportDirectoryCrash: wherever a report is interrupted, the old one is whole until the new
// one is, and the next report clears up.
func TestReportDirectoryCrash(t *testing.T) {
	for op := 1; ; op++ {
		fsys := crashfs.New("/report")
		must.Do(t, makeReport(fsys, "old", "keys/k0.html", "keys/k1.html", "keys/k2.html"))
		fsys.CrashAt(fsys.Ops() + op)
		if makeReport(fsys, "middle", "keys/k0.html", "keys/k1.html", "plots/k1.svg") == nil {
			break
		}
		fsys = fsys.Reboot(crashfs.Everything)
		if files := filesOf(fsys); files["index.html"] == "" || files["keys/k0.html"] == "" ||
			files["index.html"] == "middle" && files["plots/k1.svg"] != "middle" {
			t.Fatalf("crash at %d: %v", op, files)
		}
		must.Do(t, makeReport(fsys, "new", "keys/k0.html"), "crash at", op)
		want := map[string]string{"index.html": "new", "keys/k0.html": "new"}
		got := filesOf(fsys)
		maps.DeleteFunc(got, func(name, _ string) bool { return durable.IsTemp(name) }) // of the manifest
		must.Need(t, maps.Equal(got, want), "crash at", op, got)
	}
}
