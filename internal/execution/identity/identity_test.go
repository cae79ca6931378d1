package identity

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

const base = `[vms.C]
runner = "c"
variants = ["v"]
[vms.Py]
runner = "python"
path = "%/py"
variants = ["v"]
[variants.v]
entry = "bench.x"
[benchmarks]
b = { parameter = 1 }
`

// setup writes files below a directory, whose path replaces "%" in the configuration.
func setup(t *testing.T, text string, files map[string]string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(content), 0o755))
	}
	cfg, err := config.Parse(filepath.Join(dir, "x.toml"), []byte(strings.ReplaceAll(text, "%", dir)), "lab1",
		doctor.Settings())
	must.Do(t, err)
	return cfg
}

func alike(cfg *config.Config) []string {
	p := Programs{Files: Files(cfg)}
	var list []string
	for _, t := range Alike(cfg, p.Hashes(context.Background())) {
		list = append(list, t.String())
	}
	return list
}

// TestCosts: arms that only the level of instrumentation distinguishes are no twins.
func TestCosts(t *testing.T) {
	cfg := setup(t, base+`[arms.plain]
[arms.columns]
instrument = "columns"
[arms.events]
vms.C.instrument = "events"
[arms.tuned]
instrument = "events"
env.X = "1"
[arms.same]
instrument = "columns"
`, map[string]string{"py": "1", "benchmarks/b/bench.x": "2"})
	hashes := (&Programs{Files: Files(cfg)}).Hashes(context.Background())
	want := [][2]string{{"plain", "columns"}, {"plain", "events"}, {"columns", "events"}, {"plain", "same"},
		{"events", "same"}}
	must.EqualList(t, Costs(cfg, hashes), want, "costs")
	var twins []string
	for _, t := range Alike(cfg, hashes) {
		twins = append(twins, t.First+" "+t.Second)
	}
	// events does not instrument Py, and so is plain for it
	must.Equal(t, strings.Join(twins, ", "), "columns same, plain events", "twins")
}

func TestAlike(t *testing.T) {
	files := map[string]string{
		"py": "one", "py2": "two", "copy": "one",
		"benchmarks/b/bench.x": "B", "same/b/bench.x": "B", "other/b/bench.x": "C",
		"module/b/bench.x": "B", "module/b/helper.x": "H", "note/b/bench.x": "B", "note/b/README": "text",
	}
	for _, test := range []struct {
		name, arms string
		want       []string // beginnings
	}{
		{"no arms", "", nil},
		{"nothing differs", "[arms.a]\n[arms.b]",
			[]string{"the arms a and b have the same files and settings for every key"}},
		{"null arms are meant to be copies", "[arms.a]\n[arms.b]\nnull = true", nil},
		{"a copy of the directory", "[arms.a]\n[arms.b]\nbenchmarks = \"same\"",
			[]string{"the arms a and b have the same files and settings for every key"}},
		{"another entry", "[arms.a]\n[arms.b]\nbenchmarks = \"other\"", nil},
		{"another module", "[arms.a]\n[arms.b]\nbenchmarks = \"module\"", nil},
		{"another file of no importance", "[arms.a]\n[arms.b]\nbenchmarks = \"note\"",
			[]string{"the arms a and b"}},
		{"another VM", "[arms.a]\n[arms.b]\nvms.Py.path = \"./py2\"",
			[]string{"the arms a and b have the same files and settings for 1 of 2 keys"}},
		{"a copy of the VM", "[arms.a]\n[arms.b]\nvms.Py.path = \"./copy\"",
			[]string{"the arms a and b have the same files and settings for every key"}},
		{"a VM that is missing", "[arms.a]\n[arms.b]\nvms.Py.path = \"nowhere/py\"",
			[]string{"the arms a and b have the same files and settings for 1 of 2 keys"}},
		{"a setting", "[arms.a]\n[arms.b]\nenv.X = \"1\"", nil},
		{"two arms beside the base", "[arms.a]\n[arms.b]\nenv.X = \"1\"\n[arms.c]\nenv.X = \"1\"",
			[]string{"the arms b and c have the same files and settings for every key"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := alike(setup(t, base+test.arms, files))
			must.Be(t, slices.EqualFunc(got, test.want, strings.HasPrefix), got, test.want)
		})
	}
}

// elfFile returns an ELF file that needs libraries and has a run path.
func elfFile(runPath string, needed ...string) string {
	const start = 0x1000 // of the segment in memory; in the file it begins at 0
	strings, entries := "\x00", []elf.Dyn64{}
	add := func(tag elf.DynTag, text string) {
		entries = append(entries, elf.Dyn64{Tag: int64(tag), Val: uint64(len(strings))})
		strings += text + "\x00"
	}
	for _, name := range needed {
		add(elf.DT_NEEDED, name)
	}
	add(elf.DT_RUNPATH, runPath)
	at := uint64(64 + 2*56)
	end := at + uint64(len(entries)+2)*16
	entries = append(entries, elf.Dyn64{Tag: int64(elf.DT_STRTAB), Val: start + end}, elf.Dyn64{})
	header := elf.Header64{Phoff: 64, Phnum: 2}
	copy(header.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	var b bytes.Buffer
	for _, part := range []any{header, elf.Prog64{Type: uint32(elf.PT_LOAD), Vaddr: start, Filesz: 1 << 20},
		elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Off: at, Filesz: end - at}, entries, []byte(strings)} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return b.String()
}

// TestLibraries: libraries of libraries are found in the run path and in LD_LIBRARY_PATH; those of
// the system are not looked for, and neither is what is no ELF file.
func TestLibraries(t *testing.T) {
	files := map[string]string{
		"bin/py":          elfFile("$ORIGIN/../lib", "libpy.so", "libc.so.6"),
		"lib/libpy.so":    elfFile("/nowhere", "libmore.so"),
		"env/libmore.so":  "#!/bin/sh",
		"env/libother.so": "not needed",
		"lib/libmore.so":  "not in the run path of libpy.so",
	}
	cfg := setup(t, strings.Replace(base, "%/py\"", "%/bin/py\"\nenv = { LD_LIBRARY_PATH = \".:%/env\" }", 1),
		files)
	var names []string
	for _, path := range Files(cfg)["vm.Py.libraries"] {
		names = append(names, filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path))
	}
	must.EqualList(t, names, []string{"env/libmore.so", "lib/libpy.so"})
}

func FuzzDynamic(f *testing.F) {
	if text, err := os.ReadFile("/usr/bin/env"); err == nil {
		f.Add(text[:min(len(text), 1<<15)])
	}
	f.Add([]byte(elfFile("$ORIGIN", "libx.so")))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := readDynamic(bytes.NewReader(text))
		must.Be(t, err == nil || d.needed == nil && d.runPath == "", d, "beside", err)
		must.Be(t, len(d.needed) <= mostEntries && len(d.runPath) <= mostName, len(d.needed), "libraries")
	})
}
