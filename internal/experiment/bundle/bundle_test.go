package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

const text = `[experiment]
reboot = "none"
benchmarks = "../benchmarks"
[vms.C]
runner = "c"
variants = ["v"]
[vms.Own]
runner = "python"
path = "../bin/own"
variants = ["v"]
[vms.Python]
runner = "python"
path = "python3"
variants = ["v"]
[vms.Opt]
runner = "lua"
path = "/opt/lua/bin/lua"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
x = { parameter = 1 }
`

// lab writes an experiment and returns its configuration.
func lab(t *testing.T, text string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"etc/x.toml": text, "bin/own": "#!/bin/sh\n", "benchmarks/x/bench.so": "so",
		"benchmarks/x/deep/data": "data", "benchmarks/.git/config": "not packed",
		"benchmarks/old.krun/journal": "not packed", "unrelated": "not packed",
	} {
		put(t, filepath.Join(dir, name), content)
	}
	must.Do(t, os.Chmod(filepath.Join(dir, "bin/own"), 0o755|fs.ModeSetuid))
	must.Do(t, os.Symlink("bench.so", filepath.Join(dir, "benchmarks/x/link.so")))
	return parse(t, filepath.Join(dir, "etc/x.toml"), text)
}

func put(t *testing.T, name, content string) {
	t.Helper()
	must.Do(t,
		errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)))
}

func parse(t *testing.T, path, text string) *config.Config {
	t.Helper()
	cfg := must.Get(config.Parse(path, []byte(text), "lab1", doctor.Settings()))(t)
	return cfg
}

func pack(t *testing.T, cfg *config.Config, copies ...Copy) ([]byte, Manifest) {
	t.Helper()
	c := must.Get(Collect(cfg, copies))(t)
	var b bytes.Buffer
	m := must.Get(c.Write(&b))(t)
	return b.Bytes(), m
}

func TestBundle(t *testing.T) {
	first, m := pack(t, lab(t, text))
	second, _ := pack(t, lab(t, text))
	must.Be(t, bytes.Equal(first, second), "the same files elsewhere give other bytes")
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Path)
	}
	want := []string{"benchmarks/x/bench.so", "benchmarks/x/deep/data", "benchmarks/x/link.so", "bin/own",
		"etc/x.toml"}
	must.Be(t, slices.Equal(names, want) && m.Config == "etc/x.toml" && m.Experiment == "x" &&
		slices.Equal(m.External, []string{"/opt/lua/bin/lua", "python3"}), m)
	dir := filepath.Join(t.TempDir(), "id")
	put(t, filepath.Join(dir+".tmp", "leftover"), "of a crash")
	got, err := Unpack(bytes.NewReader(first), dir, func(text []byte) ([]byte, error) {
		return config.WithShard(text, 1, 3), nil
	}, nil)
	must.Do(t, err)
	_, err = config.Load(filepath.Join(dir, got.Config), "lab1", doctor.Settings())
	must.Refuse(t, err, "/opt/lua/bin/lua", "the program that this machine lacks is not reported")
	cfg := must.Get(config.Open(filepath.Join(dir, got.Config), "lab1", doctor.Settings()))(t)
	must.Equal(t, cfg.Experiment.Shard, (config.Shard{Index: 2, Count: 3}), "shard")
	for name, mode := range map[string]fs.FileMode{"bin/own": 0o755, "etc/x.toml": 0o644,
		"benchmarks/x/link.so": 0o644, "benchmarks/x": 0o755 | fs.ModeDir} {
		info, err := os.Lstat(filepath.Join(dir, name))
		must.Be(t, err == nil && info.Mode() == mode, name, info.Mode(), err, "want", mode)
	}
	_, err = os.Stat(filepath.Join(dir, "leftover"))
	must.Fail(t, err, fs.ErrNotExist, "a file of an earlier attempt was kept")
	must.Refused(Unpack(bytes.NewReader(first), dir, nil, nil))(t, "", "an existing directory was replaced")
}

// TestCopies: a directory is packed at another place, which the configuration names.
func TestCopies(t *testing.T) {
	cfg := lab(t, text)
	arms := text + "[arms.a]\nbenchmarks = \"x.arms/a\"\n[arms.b]\nbenchmarks = \"x.arms/b\"\n"
	cfg = parse(t, cfg.Path, arms)
	from := t.TempDir()
	put(t, filepath.Join(from, "x/bench.so"), "of the revision")
	beside := filepath.Join(filepath.Dir(cfg.Path), "x.arms")
	_, m := pack(t, cfg, Copy{From: from, As: filepath.Join(beside, "a")},
		Copy{From: from, As: filepath.Join(beside, "b")})
	var names []string
	for _, f := range m.Files {
		names = append(names, f.Path)
	}
	want := []string{"bin/own", "etc/x.arms/a/x/bench.so", "etc/x.arms/b/x/bench.so", "etc/x.toml"}
	must.EqualList(t, names, want)
	_, err := Collect(cfg, nil)
	must.Refuse(t, err, "the configuration names it", "missing arms")

	put(t, filepath.Join(from, "x/bench.c"), "source")
	must.Do(t, os.Remove(filepath.Join(from, "x/bench.so")))
	var copies []Copy
	for _, arm := range []string{"b", "a"} {
		copies = append(copies, Copy{from, filepath.Join(beside, arm), []string{"make"}, time.Minute})
	}
	_, m = pack(t, cfg, copies...)
	must.Equal(t, fmt.Sprint(m.Builds), "[{etc/x.arms/a [make] 60} {etc/x.arms/b [make] 60}]")
}

// TestTree: what a tree, and an archive of one, may not have.
func TestTree(t *testing.T) {
	for want, fill := range map[string]func(dir string) error{
		"no files":        func(string) error { return nil },
		"path escapes":    func(dir string) error { return os.Symlink("/etc/hostname", dir+"/x") },
		"no regular file": func(dir string) error { return mkfifo(dir + "/x") },
		"not allowed": func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/x.krun", 0o755),
				os.WriteFile(dir+"/x.krun/journal", nil, 0o644))
		},
	} {
		dir := t.TempDir()
		must.Do(t, fill(dir))
		must.Refuse(t, CopyTree(dir, filepath.Join(t.TempDir(), "to")), want)
	}
	for _, name := range []string{"../x", "/x", "link/x", "link/../../x", "large",
		strings.Repeat("d/", 500) + "x"} {
		var b bytes.Buffer
		out := tar.NewWriter(&b)
		must.Do(t, out.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/tmp"}))
		size := int64(0)
		if name == "large" {
			size = MaxTree + 1
		}
		must.Do(t, out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}))
		must.Refuse(t, UnpackTree(&b, filepath.Join(t.TempDir(), "to")), "", name)
	}
}

func TestCollectRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"a link to a directory": {func(dir string) error { return os.Symlink("deep", dir+"/x/link") },
			"is a link to a directory"},
		"a link to nothing": {func(dir string) error { return os.Symlink("nothing", dir+"/x/link") },
			"no such file"},
		"a socket or pipe": {func(dir string) error { return mkfifo(dir + "/x/pipe") }, "not a regular file"},
	} {
		cfg := lab(t, text)
		must.Do(t, c.change(filepath.Join(filepath.Dir(cfg.Path), "../benchmarks")))
		files, err := Collect(cfg, nil)
		if err == nil {
			_, err = files.Write(io.Discard)
		}
		must.Refuse(t, err, c.want, name)
	}
}

// forged returns a bundle with the given manifest and entries.
func forged(m Manifest, entries ...*tar.Header) []byte {
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	head, _ := json.Marshal(m)
	_ = header(out, manifestName, int64(len(head)), false)
	_, _ = out.Write(head)
	for _, h := range entries {
		_ = out.WriteHeader(h)
		_, _ = out.Write(bytes.Repeat([]byte("x"), int(h.Size)))
	}
	_ = out.Close()
	return b.Bytes()
}

func file(path string) File {
	sum := sha256.Sum256([]byte("x"))
	return File{Path: path, Size: 1, SHA256: hex.EncodeToString(sum[:])}
}

func regular(name string) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: tree + name, Size: 1}
}

// TestHostile: what a bundle of an attacker may not do.
func TestHostile(t *testing.T) {
	manifest := func(config string, files ...File) Manifest {
		return Manifest{Format: 1, Experiment: "x", Config: config, Files: files}
	}
	large := file("a")
	large.Size = MaxSize
	many := make([]File, MaxFiles+1)
	for i := range many {
		many[i] = file(fmt.Sprintf("f%06d", i))
	}
	link := &tar.Header{Typeflag: tar.TypeSymlink, Name: tree + "x.toml", Linkname: "/etc/passwd"}
	device := &tar.Header{Typeflag: tar.TypeBlock, Name: tree + "x.toml", Devmajor: 8}
	hard := &tar.Header{Typeflag: tar.TypeLink, Name: tree + "x.toml", Linkname: "/etc/shadow"}
	built := func(dir string, command ...string) []byte {
		m := manifest("x.toml", file("src/a"), file("x.toml"))
		m.Builds = []Build{{dir, command, 60}}
		return forged(m, regular("src/a"), regular("x.toml"))
	}
	nested := manifest("x.toml", file("src-b/a"), file("src/a"), file("src/c/a"), file("x.toml"))
	for _, dir := range []string{"src", "src-b", "src/c"} {
		nested.Builds = append(nested.Builds, Build{dir, []string{"make"}, 60})
	}
	other := file("x.toml")
	other.SHA256 = strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		bundle []byte
		want   string
	}{
		"nothing":      {nil, "manifest.json"},
		"no manifest":  {forged(manifest("x.toml", file("x.toml")))[512*2:], ""},
		"parent":       {forged(manifest("../x.toml", file("../x.toml"))), "leads outside"},
		"absolute":     {forged(manifest("/x.toml", file("/x.toml"))), "leads outside"},
		"inner parent": {forged(manifest("a/../x.toml", file("a/../x.toml"))), "leads outside"},
		"line break":   {forged(manifest("x.toml", file("a\nb"), file("x.toml"))), "not allowed"},
		"journal":      {forged(manifest("x.toml", file("x.krun/journal"), file("x.toml"))), "not allowed"},
		"twice":        {forged(manifest("x.toml", file("x.toml"), file("x.toml"))), "is not after"},
		"file as parent": {forged(manifest("x.toml", file("a"), file("a/b"), file("x.toml"))),
			"a file and a directory"},
		"too large": {forged(manifest("x.toml", large, file("x.toml"))), "more than"},
		"too many":  {forged(manifest("x.toml", many...)), "at most"},
		"no hash":   {forged(manifest("x.toml", File{Path: "x.toml", Size: 1})), "no SHA-256"},
		"no config": {forged(manifest("y.toml", file("x.toml"))), "is not among its files"},
		"newer":     {forged(Manifest{Format: 2}), "format 2"},
		"a build in another one": {forged(nested, regular("src-b/a"), regular("src/a"), regular("src/c/a"),
			regular("x.toml")), `builds "src-b" and "src/c"`},
		"built elsewhere":  {built("../src", "make"), "which is no directory"},
		"built everywhere": {built(".", "make"), "which is no directory"},
		"built file":       {built("src/a", "make"), "which is no directory"},
		"no command":       {built("src"), "has no command"},
		"zero byte":        {built("src", "a\x00b"), "has no command"},
		"link":             {forged(manifest("x.toml", file("x.toml")), link), "in the place of"},
		"hard link":        {forged(manifest("x.toml", file("x.toml")), hard), "in the place of"},
		"device":           {forged(manifest("x.toml", file("x.toml")), device), "in the place of"},
		"missing":          {forged(manifest("x.toml", file("x.toml"))), "EOF"},
		"other content":    {forged(manifest("x.toml", other), regular("x.toml")), "not have the content"},
		"more": {forged(manifest("x.toml", file("x.toml")), regular("x.toml"), regular("y")),
			"not in its manifest"},
	} {
		dir := filepath.Join(t.TempDir(), "id")
		_, err := Unpack(bytes.NewReader(c.bundle), dir, nil, nil)
		must.Be(t, errors.Is(err, ErrInvalid) && strings.Contains(err.Error(), c.want), name, err, c.want)
		list, _ := os.ReadDir(filepath.Dir(dir))
		must.Equal(t, len(list), 0, name, "left", list)
	}
	must.Get(Unpack(bytes.NewReader(forged(manifest("x.toml", file("x.toml")), regular("x.toml"))),
		filepath.Join(t.TempDir(), "id"), nil, nil))(t, "the bundle that the others are changed from")
}

// FuzzUnpack: no bundle is unpacked outside of its directory, or makes a file that is not regular.
func FuzzUnpack(f *testing.F) {
	f.Add(forged(Manifest{Format: 1, Config: "x.toml", Files: []File{file("x.toml")}}, regular("x.toml")))
	f.Add(forged(Manifest{Format: 1, Config: "../x.toml", Files: []File{file("../x.toml")}},
		regular("../x.toml")))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := filepath.Join(t.TempDir(), "id")
		_, err := Unpack(bytes.NewReader(data), dir, nil, nil)
		list, readErr := os.ReadDir(filepath.Dir(dir))
		must.Need(t, readErr == nil && (err == nil) == (len(list) == 1), err, readErr, list)
		walkErr := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			must.Be(t, err != nil || d.IsDir() || d.Type().IsRegular(), name, "is", d)
			return nil
		})
		must.Be(t, walkErr == nil || err != nil, walkErr)
	})
}

// FuzzPath: an accepted path is that of a file below the directory.
func FuzzPath(f *testing.F) {
	for _, name := range []string{"a/b", "..", "a/../..", "/a", "a//b", "a\x00b", "x.krun/journal"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		must.Be(t, checkPath(name) != nil || filepath.IsLocal(name) && !strings.Contains(name, ".krun/"),
			name)
	})
}
