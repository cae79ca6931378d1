package identity

import (
	"time"

	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestCompare: what has changed, and what is known for the first time.
func TestCompare(t *testing.T) {
	const vm, libraries, entry, files = "program.vm.C", "program.vm.C.libraries", "program.benchmark.b.v",
		"program.benchmark.b.v.files"
	one := func(content string) Program { return Program{content, map[string]string{"/x": content}} }
	two := func(a, b string) Program { return Program{a + b, map[string]string{"/a": a, "/b": b}} }
	programs := func(of ...any) map[string]Program {
		m := map[string]Program{}
		for i := 0; i < len(of); i += 2 {
			m[of[i].(string)] = of[i+1].(Program)
		}
		return m
	}
	all := programs(vm, one("vm"), libraries, two("A", "B"), entry, one("entry"), files, one("more"))
	withProgram := func(to map[string]Program, name string, p Program) map[string]Program {
		m := maps.Clone(to)
		m[name] = p
		return m
	}
	with := func(name string, p Program) map[string]Program { return withProgram(all, name, p) }
	entryOf := func(content string) Program { return Program{content, map[string]string{"/a": content}} }
	const second = "program.benchmark.b.w" // beside the first entry
	beside := withProgram(with(files, entryOf("c")), second, entryOf("c"))
	without := func(names ...string) map[string]Program {
		m := maps.Clone(all)
		for _, name := range names {
			delete(m, name)
		}
		return m
	}
	for _, test := range []struct {
		name     string
		was, now map[string]Program
		names    []string
		want     string
		grown    map[string]Program
	}{
		{"nothing is known", nil, all, nil, "", all},
		{"the same", all, all, nil, "", all},
		{"another entry", all, with(entry, one("other")), nil, "/x entry other", all},
		{"another entry, of another key", all, with(entry, one("other")), []string{vm, libraries}, "", all},
		{"one library", all, with(libraries, two("A", "C")), nil, "/b B C", all},
		{"a library less", all, with(libraries, Program{"A", map[string]string{"/a": "A"}}), nil, "/b B ",
			all},
		{"no libraries", all, without(libraries), nil, "/a A , /b B ", all},
		{"new libraries", without(libraries), all, nil, "/a  A, /b  B", without(libraries)},
		{"no VM", all, without(vm, libraries), nil, "", all},
		{"the VM is back", without(vm, libraries), all, nil, "", all},
		{"the VM is missing, its libraries are not", without(vm), with(libraries, two("A", "C")), nil,
			"/b B C", with(vm, one("vm"))},
		{"of an earlier version", programs(vm, Program{"vm", nil}, libraries, Program{"AB", nil}),
			programs(vm, one("vm"), libraries, two("A", "B")), nil, "",
			programs(vm, one("vm"), libraries, two("A", "B"))},
		{"of an earlier version, changed", programs(vm, Program{"old", nil}, libraries, Program{"AB", nil}),
			programs(vm, one("vm"), libraries, two("A", "C")), nil,
			"/x old vm, one of /a and 1 other files (vm.C.libraries) AB AC",
			programs(vm, Program{"old", nil}, libraries, Program{"AB", nil})},
		{"a key beside was added", without(files), beside, nil, "", beside},
		{"and another file came", without(files), withProgram(beside, files, two("c", "helper")), nil,
			"/a  c, /b  helper", withProgram(without(files), second, beside[second])},
		{"the entry of the key beside has changed", beside,
			withProgram(withProgram(beside, second, entryOf("d")), files, entryOf("d")), nil,
			"/a c d, /a c d", beside},
		{"it was removed and is another one", withProgram(beside, files, one("more")),
			withProgram(beside, second, entryOf("d")), nil, "/a  c, /x more , /a c d",
			withProgram(beside, files, one("more"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			changes, grown := Edition{Number: 3, Programs: test.was}.Compare(test.now, test.names)
			var got []string
			for _, c := range changes {
				got = append(got, fmt.Sprint(c.File, " ", c.Was, " ", c.Is))
			}
			must.Equal(t, strings.Join(got, ", "), test.want, "changes")
			must.Be(t, grown.Number == 3 && maps.EqualFunc(grown.Programs, test.grown, Program.Equal),
				"grown", grown.Programs, test.grown)
		})
	}
	e := Edition{Programs: all, Varies: []string{entry}}
	changes, _ := e.Compare(with(entry, one("other")), nil)
	must.Equal(t, len(changes), 0, "what varies has changed", changes)
}

// TestRead: the hashes of single files add up to those of the fingerprint, and krund's own files
// are none that are measured. A file that comes is seen.
func TestRead(t *testing.T) {
	files := map[string]string{"py": "one", "benchmarks/b/bench.x": "B", "benchmarks/b/more.x": "M"}
	cfg := setup(t, base, files)
	list := func() map[string][]string {
		files := Files(cfg)
		files["libkrun"] = files["vm.Py"]
		return files
	}
	p := Programs{Files: list(), List: list}
	got := must.Get(p.Read(t.Context()))(t)
	hashes := p.Hashes(t.Context())
	names := slices.Sorted(maps.Keys(got))
	must.Equal(t, strings.Join(names, " "), "program.benchmark.b.v program.benchmark.b.v.files program.vm.Py",
		names)
	for name, program := range got {
		must.Be(t, program.SHA256 == hashes[name] && len(program.Files) == 1, name, program, hashes[name])
		for _, hash := range program.Files {
			must.Equal(t, hash, program.SHA256, name)
		}
	}
	third := filepath.Join(filepath.Dir(cfg.Path), "benchmarks/b/third.x")
	must.Do(t, os.WriteFile(third, []byte("T"), 0o644))
	more, err := p.Read(t.Context())
	must.Be(t, len(more["program.benchmark.b.v.files"].Files) == 2 && err == nil, "a third file", more, err)
}

// TestNames: every name of a key's files in the fingerprint is one that belongs to the key.
func TestNames(t *testing.T) {
	cfg := setup(t, base+"[arms.a]\n[arms.b]\nenv.X = \"1\"", map[string]string{"py": "one",
		"benchmarks/b/bench.x": "B", "benchmarks/b/more.x": "M"})
	all := map[string]bool{}
	for _, k := range cfg.Keys() {
		for _, name := range Names(k) {
			all[name] = true
		}
	}
	for name := range Files(cfg) {
		must.Be(t, all[Prefix+name] && Measured(Prefix+name), name, "belongs to no key")
	}
	for name, want := range map[string]bool{"program.libkrun": false, "program.runner-c": false,
		"program.runner-c.x": false, "program.relink": true, "vm.C": false, "krund": false} {
		must.Be(t, Measured(name) == want, name, !want)
	}
	k := key.Key{Benchmark: "b", VM: "C", Variant: "v", Arm: "new"}
	must.Equal(t, Names(k)[2], "program.benchmark.b.v@new")
}

// TestEditionsFile: what is stored is read again, and what is damaged is refused.
func TestEditionsFile(t *testing.T) {
	fsys := crashfs.New("/x")
	_, err := LoadEditions(fsys, "/x/editions.json")
	must.Fail(t, err, fs.ErrNotExist)
	want := []Edition{{Number: 1, Programs: map[string]Program{"program.vm.C": {"A", nil}}},
		{Number: 3, Programs: map[string]Program{"program.vm.C": {"B", map[string]string{"/x": "B"}}},
			Varies: []string{"program.relink"}}}
	must.Do(t, StoreEditions(fsys, "/x/editions.json", want))
	got, err := LoadEditions(fsys, "/x/editions.json")
	must.Be(t, err == nil && fmt.Sprint(got) == fmt.Sprint(want), got, err, want)
	for text, want := range map[string]string{
		"":                             "unexpected end",
		"{}":                           "no editions",
		`{"format":2}`:                 "format 2",
		`{"format":1,"editions":[]}`:   "no editions",
		`{"format":1,"editions":[{}]}`: "edition 0",
		`{"format":1,"editions":[{"edition":2},{"edition":2}]}`: "edition 2 follows another one",
	} {
		fsys.Put("/x/editions.json", []byte(text))
		_, err := LoadEditions(fsys, "/x/editions.json")
		must.Refuse(t, err, want, text)
	}
}

// TestEditionsOfAFile: the numbers of a file that a person has edited are checked before krund
// counts on from them.
func TestEditionsOfAFile(t *testing.T) {
	for text, want := range map[string]string{
		`{"edition": 1}, {"edition": 3}`:                                                               "",
		`{"edition": 1, "config": "a"}, {"edition": 2, "config": "b", "from_slot": 4}`:                 "",
		`{"edition": 1, "config": "a"}, {"edition": 2, "config": "b", "from_slot": 4}, {"edition": 3}`: "",
		`{"edition": 9223372036854775807}`:                                                             "none that krund can have made",
		`{"edition": 1}, {"edition": 1000000}`:                                                         "none that krund can have made",
		`{"edition": 0}`:                                                                               "edition 0 follows another one",
		`{"edition": 2}, {"edition": 2}`:                                                               "edition 2 follows another one",
		`{"edition": 1}, {"edition": 2, "config": "b"}`:                                                "a configuration that is not there",
		`{"edition": 1, "config": "a"}, {"edition": 2, "from_slot": 4}`:                                "grows from slot 4",
		`{"edition": 1, "config": "a"}, {"edition": 2, "config": "b", "from_slot": -1}`:                "grows from slot -1",
		`{"edition": 1, "config": "a", "from_slot": 5}, {"edition": 2, "config": "b", "from_slot": 4}`: "edition 1 from slot 5",
		`{"edition": 1, "config": "a"}, {"edition": 2, "config": "b", "from_slot": 1000000000000}`:     "grows from slot",
	} {
		fsys := crashfs.New("/x")
		fsys.Put("/x/editions.json", []byte(`{"format": 1, "editions": [`+text+"]}"))
		_, err := LoadEditions(fsys, "/x/editions.json")
		if want == "" {
			must.Do(t, err, text)
		} else {
			must.Refuse(t, err, want, text)
			grew := strings.Contains(text, "config")
			must.Equal(t, strings.Contains(err.Error(), "remove it"), !grew, "advises to remove", text)
		}
	}
	_, err := Next([]Edition{{Number: MaxEdition}}, time.Now())
	must.Refuse(t, err, "has its last edition", "one more")
}

// TestAGrownExperimentHasOneNumber: growing changes no program, also of a key of which no file is
// known; a change that a person accepts does.
func TestAGrownExperimentHasOneNumber(t *testing.T) {
	k := key.Key{Benchmark: "b", VM: "C", Variant: "v"}
	for accepted, want := range map[bool]int{false: 0, true: 1} {
		latest := Latest{Editions: []Edition{{Number: 1, Config: "a"}, {Number: 2, Config: "b"}, {Number: 3}}}
		if !accepted {
			latest.Editions[2].Config = "c"
		}
		for i := range 3 {
			latest.Add(&results.Record{Key: k, Slot: i, Attempt: 1, Pexec: i + 1, Edition: i + 1})
		}
		others, _ := latest.Others()
		must.Equal(t, len(others) > 0, want > 0, "others with an accepted change", accepted)
	}
}

// TestAnAddedKeyBesideIsNoOtherProgram: executions from before a key was added to the same
// directory stay those of the same program when a change elsewhere is accepted later.
func TestAnAddedKeyBesideIsNoOtherProgram(t *testing.T) {
	const entry, second = "program.benchmark.b.v", "program.benchmark.b.w"
	file := func(path string) Program { return Program{path, map[string]string{path: path}} }
	first := map[string]Program{entry: file("/v")}
	grown := map[string]Program{entry: file("/v"), entry + ".files": file("/w"), second: file("/w")}
	latest := Latest{Editions: []Edition{{Number: 1, Programs: first, Config: "a"},
		{Number: 2, Programs: grown, Config: "b"}, {Number: 3, Programs: grown}}}
	for i := range 3 {
		latest.Add(&results.Record{Key: key.Key{Benchmark: "b", VM: "C", Variant: "v"}, Slot: i, Attempt: 1,
			Pexec: i + 1, Edition: i + 1})
	}
	others, remark := latest.Others()
	must.Equal(t, len(others), 0, remark)
	latest.Editions[2].Programs = map[string]Program{entry: file("/x"), second: file("/w")}
	others, _ = latest.Others()
	must.Equal(t, len(others), 2, "executions before another entry was accepted")
}
