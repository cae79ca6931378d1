package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/rig/must"
)

const suiteText = `[experiment]
reboot = "none"
account = "caller"
[suites.scripts]
kind = "pyperf"
path = "scripts"
[vms.CPython]
runner = "python"
path = "python3"
variants = ["scripts", "mine"]
[variants.mine]
entry = "bench.py"
[benchmarks]
nbody = { parameter = 7 }
`

// TestSuites: the keys come from the suite, the text of the configuration keeps them, and a change
// of the suite is a change of the configuration.
func TestSuites(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		must.Write(t, filepath.Join(dir, name), text)
	}
	write("e.toml", suiteText)
	write("scripts/a.py", "import pyperf")
	write("scripts/nbody.py", "import pyperf")
	path := filepath.Join(dir, "e.toml")
	c := must.Get(config.Open(path, "lab", doctor.Settings()))(t)
	var keys []string
	for _, k := range c.Keys() {
		keys = append(keys, k.String())
	}
	must.Equal(t, strings.Join(keys, " "), "nbody:CPython:scripts nbody:CPython:mine a:CPython:scripts")
	suite, own := key.Key{Benchmark: "nbody", VM: "CPython", Variant: "scripts"}, must.Get(key.Parse(
		"nbody:CPython:mine"))(t)
	must.Equal(t, c.EntryPath(suite), filepath.Join(dir, "scripts/nbody.py"))
	_, _, b, err := c.Lookup(suite)
	must.Be(t, err == nil && b.Parameter == 1, b, err)
	_, _, b, err = c.Lookup(own)
	must.Be(t, err == nil && b.Parameter == 7, b, err)
	must.Be(t, c.Relative(filepath.Join(dir, "scripts")), c.Needs())

	must.Do(t, os.RemoveAll(filepath.Join(dir, "scripts")))
	stored := must.Get(config.Stored(path, []byte(c.Text), "lab", doctor.Settings()))(t)
	must.Equal(t, stored.Hash, c.Hash)
	must.Equal(t, len(stored.Keys()), 3)
	_, err = config.Open(path, "lab", doctor.Settings())
	must.Be(t, err != nil && strings.Contains(err.Error(), "e.toml:4: suites.scripts: "), err)

	write("scripts/other.py", "import pyperf")
	again := must.Get(config.Open(path, "lab", doctor.Settings()))(t)
	same, changes, err := again.AsBegun([]byte(c.Text))
	must.Be(t, err == nil && same == nil && len(changes) > 0, changes, err)
}

// TestSuiteSizes: [benchmarks] says how much of a suite's benchmark is measured, without a
// parameter.
func TestSuiteSizes(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "scripts"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "scripts", "a.py"), []byte("import pyperf"), 0o644))
	text := strings.Replace(suiteText, "nbody = { parameter = 7 }", "nbody = { parameter = 7 }\n"+
		"a = { executions = 3, vms.CPython.iterations = 9 }", 1)
	path := filepath.Join(dir, "e.toml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	c := must.Get(config.Open(path, "lab", doctor.Settings()))(t)
	k := key.Key{Benchmark: "a", VM: "CPython", Variant: "scripts"}
	must.Equal(t, len(c.Keys()), 2)
	must.Be(t, c.Executions(k) == 3 && c.Iterations(k) == 9, c.Executions(k), c.Iterations(k))
}

// TestSuiteBuilds: an arm may have another build of a suite, and parameters replaces the inner
// iterations of single benchmarks.
func TestSuiteBuilds(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"scripts/a.py", "new/a.py"} {
		must.Write(t, filepath.Join(dir, name), "import pyperf")
	}
	text := strings.Replace(suiteText, `path = "scripts"`, `path = "scripts"`+"\nparameters = { a = 50 }", 1)
	text = strings.Replace(text, `["scripts", "mine"]`, `["scripts"]`, 1) +
		"[arms.base]\n[arms.new]\nbenchmarks = \"new\"\n"
	path := filepath.Join(dir, "e.toml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	c := must.Get(config.Open(path, "lab", doctor.Settings()))(t)
	k := key.Key{Benchmark: "a", VM: "CPython", Variant: "scripts", Arm: "base"}
	_, _, b, err := c.Lookup(k)
	must.Be(t, err == nil && b.Parameter == 50, b, err)
	must.Equal(t, c.EntryPath(k), filepath.Join(dir, "scripts/a.py"))
	k.Arm = "new"
	_, v, _, err := c.Lookup(k)
	must.Be(t, err == nil && v.Suite.Path == filepath.Join(dir, "new"), v, err)
	must.Equal(t, c.EntryPath(k), filepath.Join(dir, "new/a.py"))

	must.Do(t, os.WriteFile(path, []byte(strings.Replace(text, "a = 50", "b = 50", 1)), 0o644))
	_, err = config.Open(path, "lab", doctor.Settings())
	must.Be(t, err != nil && strings.Contains(err.Error(), "parameters.b is no benchmark of"), err)
}

// TestSuiteMistakes: each is reported at its line.
func TestSuiteMistakes(t *testing.T) {
	const found = "[suites.scripts.found.benchmarks]\n"
	for _, c := range []struct{ old, replacement, want string }{
		{`"scripts", "mine"`, `"mine"`, ":4: suites.scripts is run by no VM"},
		{`runner = "python"`, `runner = "ruby"`, `which krund measures with runner = "python"`},
		{`kind = "pyperf"`, "", ":4: suites.scripts is no suite that krund knows"},
		{`kind = "pyperf"`, `kind = "pyprf"`, ":5: suites.scripts.kind is"},
		{`path = "scripts"`, "", ":4: suites.scripts has no path"},
		{"[benchmarks]", found + "x = { files = { python = \"../x\" } }\n[benchmarks]",
			":14: suites.scripts.found.benchmarks.x: \"../x\" is not a file in the suite"},
		{"[benchmarks]", found + "\"a\\nb\" = { files = { python = \"x\" } }\n[benchmarks]",
			":14: suites.scripts.found"},
		{"[benchmarks]", "[suites.scripts.found]\nleft_out = [\"b: why\"]\n" + found + "[benchmarks]",
			":4: suites.scripts has no benchmark that can run: b: why; correct the suite"},
		{"[benchmarks]", "[machines.x.suites.scripts]\npath = \"x\"\n[benchmarks]",
			"a suite is the same on all"},
	} {
		text := strings.Replace(suiteText, c.old, c.replacement, 1)
		dir := t.TempDir()
		path := filepath.Join(dir, "e.toml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		must.Do(t, os.Mkdir(filepath.Join(dir, "scripts"), 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, "scripts", "a.py"), []byte("import pyperf"), 0o644))
		_, err := config.Open(path, "lab", doctor.Settings())
		must.Be(t, err != nil && strings.Contains(err.Error(), c.want), c.want, "in", err)
	}
}
