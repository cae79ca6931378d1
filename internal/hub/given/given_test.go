package given

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/ship"
	"krund/rig/must"
)

const hub = "http://hub.example"

func store(t *testing.T, needed ...string) Store {
	t.Helper()
	return Store{FS: durable.OS(), Dir: t.TempDir(), Hub: hub, Most: Most,
		Needed: func(dir string) bool { return slices.Contains(needed, filepath.Base(dir)) }}
}

// packed is a bundle with a benchmark of so many bytes.
func packed(t *testing.T, size int, builds ...string) io.ReadSeeker {
	t.Helper()
	dir := t.TempDir()
	const text = `[vms.Python]
runner = "python"
path = "python3"
variants = ["v"]
[variants.v]
entry = "bench.py"
[benchmarks]
b = { parameter = 1 }
`
	file := filepath.Join(dir, "benchmarks/b/bench.py")
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, bytes.Repeat([]byte{'#'}, size), 0o644)))
	cfg := must.Get(config.Parse(filepath.Join(dir, "x.toml"), []byte(text), "lab1", doctor.Settings()))(t)
	var copies []bundle.Copy
	for _, name := range builds {
		from := filepath.Join(dir, name)
		must.Do(t, os.Mkdir(from, 0o755))
		must.Write(t, filepath.Join(from, "source"), name)
		copies = append(copies, bundle.Copy{From: from, As: from, Build: []string{"make"}, Time: time.Hour})
	}
	c := must.Get(bundle.Collect(cfg, copies))(t)
	var b bytes.Buffer
	must.Get(c.Write(&b))(t)
	return bytes.NewReader(b.Bytes())
}

func unchanged(text []byte) []byte { return text }

func accept(string, []byte) error { return nil }

// files are the paths of the files in the store.
func (s Store) files(t *testing.T) (list []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(path, s.Dir+"/"))
		}
		return err
	}))
	return list
}

// TestUnpack: the configuration is judged as this machine runs it, before a file is written.
func TestUnpack(t *testing.T) {
	s := store(t)
	refused := errors.New("refused")
	added := func(text []byte) []byte { return append(text, "# added\n"...) }
	_, err := s.Unpack(packed(t, 1000), "id", added, func(path string, text []byte) error {
		if list := s.files(t); len(list) > 0 || path != filepath.Join(s.Dir, "id/x.toml") ||
			!strings.HasSuffix(string(text), "# added\n") {
			t.Errorf("judged %s %s after %q", path, text, list)
		}
		return refused
	}, nil)
	list, readErr := os.ReadDir(s.Dir)
	must.Be(t, errors.Is(err, refused) && len(list) == 0 && readErr == nil, err, "left", list, readErr)
	for range 2 { // the second time as after a crash
		path, err := s.Unpack(packed(t, 1000), "id", added, accept, nil)
		want := []string{"id/benchmarks/b/bench.py", "id/x.toml"}
		must.Be(t, err == nil && path == filepath.Join(s.Dir, "id/x.toml") && slices.Equal(s.files(t), want),
			path, err, s.files(t))
	}
}

var record = results.Name{Slot: 0, Attempt: 1}

// addResults makes the directory of an experiment that has begun, of which the hub has everything
// or not.
func (s Store) addResults(t *testing.T, id string, received bool, age time.Duration) {
	t.Helper()
	must.Do(t, os.MkdirAll(s.Path(id), 0o755))
	d := must.Get(directory.Create(s.FS, filepath.Join(s.Path(id), "x.krun")))(t)
	must.Do(t, os.WriteFile(d.Schedule(), make([]byte, 1<<20), 0o644))
	must.Do(t, os.MkdirAll(d.Results(), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(d.Results(), record.String()), nil, 0o644))
	m := must.Get(ship.Load(s.FS, d.Hub(), hub))(t)
	if received {
		m.Add(record)
	}
	must.Do(t, m.Store(s.FS, d.Hub()))
	at := time.Now().Add(-age)
	must.Do(t, filepath.WalkDir(s.Path(id), func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	}))
}

// TestTidy: of what is not needed only results stay.
func TestTidy(t *testing.T) {
	s := store(t, "running")
	for _, id := range []string{"running", "ended", "never", "begun"} {
		must.Get(s.Unpack(packed(t, 10), id, unchanged, accept, nil))(t)
	}
	s.addResults(t, "ended", true, 0)
	begun := must.Get(directory.Create(s.FS, filepath.Join(s.Path("begun"), "x.krun")))(t)
	must.Do(t, durable.WriteFile(s.FS, begun.Hub(), nil, 0o644))
	file := must.Get(s.Temporary())(t)
	must.Do(t, file.Close())
	must.Do(t, os.MkdirAll(s.Path("half.tmp/benchmarks"), 0o755))
	for range 2 {
		must.Do(t, s.Tidy())
		want := []string{"begun/x.krun/hub.json", "ended/x.krun/hub.json",
			"ended/x.krun/results/" + record.String(),
			"ended/x.krun/schedule", "running/benchmarks/b/bench.py", "running/x.toml"}
		must.EqualList(t, s.files(t), want)
	}
	for id, want := range map[string]bool{"ended": true, "begun": false, "absent": false} {
		must.Do(t, s.Forget(id))
		_, err := os.Lstat(s.Path(id))
		must.Equal(t, (err == nil), want, id, "is forgotten", err)
	}
	list, err := os.ReadDir(s.Dir)
	must.Be(t, len(list) == 2 && err == nil, "left", list, err)
	must.Do(t, (Store{Dir: filepath.Join(s.Dir, "absent")}).Tidy())
}

// TestRoom: the oldest results that the hub has make room for a new experiment, no other ones.
func TestRoom(t *testing.T) {
	s := store(t, "needed")
	s.addResults(t, "needed", true, 9*time.Hour)
	s.addResults(t, "unknown", false, 8*time.Hour) // to the hub
	s.addResults(t, "oldest", true, 7*time.Hour)
	s.addResults(t, "older", true, 6*time.Hour)
	s.addResults(t, "newest", true, 5*time.Hour)
	s.Most = 5 << 20
	for _, step := range []struct {
		bytes int
		left  string
		fits  bool
	}{
		{1 << 19, "needed newest older unknown", true},
		{1 << 20, "needed newest unknown", true},
		{4 << 20, "needed unknown", false},
	} {
		_, err := s.Unpack(packed(t, step.bytes), "new", unchanged, accept, nil)
		must.Be(t, (err == nil) == step.fits && (err == nil ||
			strings.Contains(err.Error(), "remove results there")), step.bytes, "bytes", err)
		var left []string
		list := must.Get(os.ReadDir(s.Dir))(t)
		for _, e := range list {
			if e.Name() != "new" {
				left = append(left, e.Name())
			}
		}
		must.Equal(t, strings.Join(left, " "), step.left, step.bytes, "bytes: left")
		must.Do(t, os.RemoveAll(s.Path("new")))
	}
}

// TestBuilds: what a bundle builds is built once, before the experiment's directory exists. A kill
// in the middle of it leaves nothing that counts, and it is begun three times at most.
func TestBuilds(t *testing.T) {
	s, began := store(t), 0
	content := packed(t, 10, "base", "new")
	build := func(killedAt int) (err error) {
		ended := make(chan struct{})
		err = errors.New("killed")
		go func() {
			defer close(ended)
			n := 0
			_, err = s.Unpack(content, "id", unchanged, accept, func(_ bundle.Build, source, into string) (
				string, error) {
				began++
				text := must.Get(os.ReadFile(filepath.Join(source, "source")))(t)
				must.Do(t, os.Mkdir(into, 0o755)) // nothing is there of a call that was killed
				must.Write(t, filepath.Join(into, "built"), string(text))
				if n++; n == killedAt {
					runtime.Goexit() // nothing is tidied up
				}
				return "made " + string(text) + "\n", nil
			})
		}()
		<-ended
		_, seekErr := content.Seek(0, io.SeekStart)
		must.Do(t, errors.Join(seekErr, s.Tidy()))
		return err
	}
	for _, at := range []int{1, 2} {
		must.Refuse(t, build(at), "killed")
		_, err := os.Lstat(s.Path("id"))
		must.Fail(t, err, os.ErrNotExist)
	}
	s.Needed = func(string) bool { return true }
	for range 2 { // the second time, as after a boot, nothing is built
		must.Do(t, build(0))
		must.EqualList(t, s.files(t), []string{"id/base/built", "id/benchmarks/b/bench.py", "id/new/built",
			"id/x.krun/build.log", "id/x.toml"})
	}
	must.Equal(t, began, 1+2+2)
	log := must.Get(os.ReadFile(s.Path("id/x.krun/build.log")))(t)
	must.Equal(t, string(log), "# base: make\nmade base\n# new: make\nmade new\n")

	must.Do(t, os.RemoveAll(s.Path("id")))
	for range 3 {
		must.Refuse(t, build(1), "killed")
	}
	must.Refuse(t, build(0), "begun 3 times")
	must.Do(t, s.Forget("id"))
	must.Do(t, build(0))
}
