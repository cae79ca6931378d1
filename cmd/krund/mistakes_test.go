//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"krund/rig/must"
	"krund/runners/runnertest"
)

// A mistake is one that users of krund and of Krun have made, with the whole message that they get.
type mistake struct {
	name     string
	language string // of the VM, for runnertest.Interpreters; "c" for none
	file     string // of the benchmark, in the directory b
	text     string // its contents; for .so files from .c, the source
	entry    string // "" is file
	config   string // lines after those of the VM
	toml     string // replaces the configuration
	command  string // "" is check --try
	prepare  func(t *testing.T, dir string)
	code     int
	want     string // DIR, VM, TIME and PREFIX stand for what differs
}

const tries = "one iteration of each key, with its limits, account and libraries:\n"

const fails = tries + "fails  b:V:v, TIME\n       "

// notLoaded is the reason of a benchmark that its runner cannot load.
const notLoaded = fails + "exit status 66: the benchmark file cannot be loaded; its last output: "

const raised = fails + "exit status 70: the benchmark raised an exception in run_iter; its last output: "

const none = "\n       0 of 1 iterations were measured\n"

var mistakes = []mistake{
	{
		name: "a Krun configuration has the name of the directory", language: "c", file: "bench.c",
		text: good, command: "run",
		prepare: func(t *testing.T, dir string) {
			must.Write(t, filepath.Join(dir, "x.krun"), "N_EXECUTIONS = 3\n")
		},
		code: exitError,
		want: "krund: DIR/x.krun is not a directory, but an experiment needs a directory of that name; if " +
			"it is a configuration of Krun, `krunctl convert --to toml` converts it; then rename the file, " +
			"or name another directory (`krund run --directory`)\n",
	},
	{
		name: "a heap limit in KiB, from Krun", language: "c", file: "bench.c", text: good,
		config: "[limits]\nheap = 2097152\n", code: exitUsage,
		want: "DIR/x.toml:15: limits.heap is 2097152 bytes (2MiB), too little for most programs to start; " +
			"write it with its unit: \"2GiB\" if it comes from Krun, which counts KiB, or \"2MiB\"\n",
	},
	{
		name: "demo.toml copied elsewhere", toml: "../../configs/demo.toml", code: exitUsage,
		want: "DIR/x.toml:LINE: the directory of the benchmarks is PARENT/benchmarks (no such file or " +
			"directory); write where it is in [experiment], such as benchmarks = \"../benchmarks\"; a " +
			"relative path begins at the directory of this file\n",
	},
	{
		name: "a Java entry without .class", language: "java", file: "KrunEntry.class", entry: "KrunEntry",
		code: exitUsage,
		want: "DIR/x.toml:13: b:V:v needs the file DIR/benchmarks/b/KrunEntry (no such file or directory); " +
			"write entry = \"KrunEntry.class\" in [variants.v], the compiled class, and compile it with " +
			"javac\n",
	},
	{
		name: "a heap in which the VM cannot start", language: "ruby", file: "bench.rb",
		text: "def run_iter(n)\nend\n", config: "[limits]\nheap = \"2MiB\"\n", code: exitError,
		want: fails + "exit status 1; the limit limits.heap = \"2MiB\" was probably reached; its last " +
			"output: " +
			"[FATAL] failed to allocate memory" + none,
	},
	{
		name: "a syntax error", language: "ruby", file: "bench.rb", text: "def run_iter(n\nend\n",
		code: exitError, want: notLoaded,
	},
	{
		name: "Python 2 in Python 3", language: "python", file: "bench.py",
		text: "def run_iter(n):\n    for i in xrange(n): pass\n", code: exitError,
		want: raised + "runner.py: DIR/benchmarks/b/bench.py raised an exception in run_iter: NameError: " +
			"name 'xrange' is not defined" + none + "       do: it is written for Python 2: name a " +
			"Python 2 " +
			"or PyPy 2 as path of the VM, or translate it (2to3)\n",
	},
	{
		name: "PHP's short tag", language: "php", file: "bench.php",
		text: "<?\nfunction run_iter($n) { return $n; }\n", config: "#", code: exitError,
		want: fails + "exit status 65: the benchmark has no function run_iter; its last output: " +
			"runner.php: " +
			"DIR/benchmarks/b/bench.php has no function run_iter" + none + "       do: PHP printed the " +
			"file " +
			"instead of running it: it begins with the short tag <?; write args = [\"-d\", " +
			"\"short_open_tag=1\"] in the VM's section\n",
	},
	{
		name: "Lua 5.2 in LuaJIT", language: "lua", file: "bench.lua",
		text: "function run_iter(n) return bit32.band(n, 1) end\n", code: exitError,
		want: raised + "runner.lua: DIR/benchmarks/b/bench.lua raised an exception in run_iter: " +
			"DIR/benchmarks/b/bench.lua:1: attempt to index global 'bit32' (a nil value)" + none +
			"       do: LuaJIT has the library bit and not Lua 5.2's bit32: use bit, or run it with " +
			"another VM\n",
	},
	{
		name: "goto of Lua 5.2, which LuaJIT has", language: "lua", file: "bench.lua",
		text: "function run_iter(n)\n  for i = 1, n do\n    if i % 2 == 0 then goto continue end\n" +
			"    ::continue::\n  end\nend\n",
		code: exitOK, want: tries + "ok     b:V:v, TIME\n",
	},
	{
		name: "d8's load and print in Node", language: "javascript", file: "bench.js",
		text: "load(\"bench.js.txt\");\nfunction run_iter(n) { print(n); }\n",
		prepare: func(t *testing.T, dir string) {
			must.Write(t, filepath.Join(dir, "benchmarks/b/bench.js.txt"), "var x = 1;\n")
		},
		code: exitOK,
		want: tries + "look   b:V:v, TIME\n       it writes to stdout (2 bytes, \"3\"); the time that " +
			"run_iter " +
			"needs for that is measured: write nothing between iterations\n",
	},
	{
		name: "a library is not linked", language: "c", file: "bench.c",
		text: "double elsewhere(void); void run_iter(int n) { elsewhere(); }\n", code: exitError,
		want: notLoaded + "runner: cannot load the benchmark: DIR/benchmarks/b/bench.so: undefined symbol: " +
			"elsewhere" + none + "       do: link the library that defines the symbol into bench.so, " +
			"such as " +
			"with -lm after the object files\n",
	},
	{
		name: "a wrong checksum", language: "c", file: "bench.c",
		text: `void run_iter(int n) { fprintf(stderr, "bad checksum: %d vs 4\n", 5); exit(1); }`,
		code: exitError,
		want: fails + "exit status 1; its last output: bad checksum: 5 vs 4" + none,
	},
}

// files makes the experiment of a mistake and returns its directory.
func (m mistake) files(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "m") // short: LuaJIT abbreviates long paths
	must.Do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if m.toml != "" {
		text := must.Get(os.ReadFile(m.toml))(t)
		must.Write(t, filepath.Join(dir, "x.toml"), string(text))
		return dir
	}
	path, entry := "", m.file
	if m.language != "c" {
		for _, vm := range runnertest.Interpreters(t, m.language) {
			path = vm
		}
	}
	if m.language == "python" {
		if path, err = python3(); err != nil {
			t.Skip(err)
		}
	}
	file := filepath.Join(dir, "benchmarks/b", m.file)
	must.Write(t, file, m.text)
	if strings.HasSuffix(file, ".c") {
		entry = "bench.so"
		must.Write(t, file, "#include <stdio.h>\n#include <stdlib.h>\n"+m.text)
		cc := exec.CommandContext(t.Context(), runnertest.Compiler(t), "-w", "-shared", "-fPIC", "-o",
			filepath.Join(filepath.Dir(file), entry), file)
		out, err := cc.CombinedOutput()
		must.Do(t, err, out)
	}
	if m.entry != "" {
		entry = m.entry
	}
	vm := fmt.Sprintf("runner = %q\npath = %q\n", m.language, path)
	if path == "" {
		vm = "runner = \"c\"\n\n"
	}
	must.Write(t, filepath.Join(dir, "x.toml"), "[experiment]\nreboot = \"none\"\naccount = \"caller\"\n"+
		"[counters]\nsources = [\"none\"]\n[vms.V]\n"+vm+"variants = [\"v\"]\n[variants.v]\nentry = \""+
		entry+"\"\n[benchmarks]\nb = { parameter = 3 }\n"+m.config)
	if m.prepare != nil {
		m.prepare(t, dir)
	}
	return dir
}

// times are those of the trials.
var times = regexp.MustCompile(`(?m)^((?:ok|look|fails) .*), [0-9.]+m?s$`)

var lineNumber = regexp.MustCompile(`\.toml:[0-9]+:`)

// TestMistakes: each mistake gets a message that names it and what to do, and `check --try` changes
// nothing of the experiment and leaves nothing behind.
func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			must.Do(t, install())
			dir := m.files(t)
			before := listing(t, dir)
			args := []string{"check", "--try"}
			if m.command != "" {
				args = []string{m.command}
			}
			r := startKrund(t, filepath.Join(scratch, "prefix"), append(args, filepath.Join(dir,
				"x.toml"))...).wait()
			must.Equal(t, r.code, m.code, "exit status")
			got := r.stderr
			if i := strings.Index(r.stdout, tries); i >= 0 {
				got = times.ReplaceAllString(r.stdout[i:], "$1, TIME")
			}
			got = strings.ReplaceAll(got, dir, "DIR")
			got = strings.ReplaceAll(got, filepath.Dir(dir), "PARENT")
			if m.toml != "" { // which others change
				got = lineNumber.ReplaceAllString(got, ".toml:LINE:")
			}
			must.Be(t, got == m.want || m.want == notLoaded && strings.HasPrefix(got, m.want),
				"the message is", got, "want", m.want, "stderr", r.stderr)
			must.Equal(t, listing(t, dir), before, "the files were", "and are")
		})
	}
}

// listing are the names of all files, without what an interpreter caches.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "__pycache__" {
			return fs.SkipDir
		}
		names = append(names, path)
		return err
	}))
	return strings.Join(names, "\n")
}
