package runners

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// A scriptCase is a benchmark's source and the expected result of its runner.
type scriptCase struct {
	name   string
	source string // "" for a file that is not there
	args   []string
	run    run
	want   expect
}

// fails is a benchmark that ends in its first iteration, or before.
func fails(name, source string, status int, complaint string) scriptCase {
	return scriptCase{name, source, []string{"1"}, run{iterations: 10},
		expect{status, 0, libkrun.StateReady, "", complaint}}
}

// prints is a benchmark that runs so many iterations and prints something.
func prints(name, source, parameter string, iterations int, stdout string) scriptCase {
	return scriptCase{name, source, []string{parameter}, run{iterations: iterations},
		expect{0, iterations, libkrun.StateDone, stdout, ""}}
}

// checks is a benchmark that finds a mistake in its fourth iteration and exits.
func checks(source string) scriptCase {
	return scriptCase{"wrong checksum", source, []string{"1"}, run{iterations: 10},
		expect{1, 3, libkrun.StateReady, "bad checksum\n", ""}}
}

// raises is a benchmark that raises an exception in its third iteration.
func raises(source, complaint string) scriptCase {
	return scriptCase{"exception", source, []string{"1"}, run{iterations: 10},
		expect{ExitException, 2, libkrun.StateReady, "", complaint}}
}

// common are the cases of all languages: a good benchmark with a parameter is measured, is stopped,
// and gets no buffer; wrong are parameters that the runner refuses.
func common(good string, iterations int, parameter string, wrong ...string) []scriptCase {
	cases := []scriptCase{
		prints("measures", good, parameter, iterations, ""),
		{"stopped", good, []string{parameter}, run{iterations: 20, stopped: true},
			expect{0, 0, libkrun.StateDone, "", ""}},
		{"no buffer", good, []string{"1"}, run{iterations: 1, noBuffer: true},
			expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: the descriptor"}},
	}
	usages := [][]string{nil, {"1", "2"}}
	for _, text := range wrong {
		usages = append(usages, []string{text})
	}
	for _, args := range usages {
		cases = append(cases, scriptCase{fmt.Sprintf("parameters %q", args), good, args, run{iterations: 1},
			expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}})
	}
	return cases
}

// sources are the longer benchmarks of a language, in testdata/scripts.
func sources(language string) []txtar.File {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "scripts", language+".txtar"))
	if err != nil {
		panic(err) // it is in the repository
	}
	return archive.Files
}

// source returns one of them.
func source(language, name string) string {
	for _, f := range sources(language) {
		if f.Name == name {
			return string(f.Data)
		}
	}
	panic("no " + name + " in " + language)
}

// called is what a benchmark says in a call for a parameter, "" without a format.
func called(format, parameter string, call int) string {
	if format == "" {
		return ""
	}
	return fmt.Sprintf(format, parameter, call)
}

// testScripts runs cases; vm is the command line up to the runner, file the name of the benchmark's
// file.
func testScripts(t *testing.T, vm []string, file string, cases []scriptCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join("/nowhere", file)
			if test.source != "" {
				path = write(t, file, test.source)
			}
			test.run.argv = slices.Concat(vm, []string{path}, test.args)
			test.run.do(t).check(t, test.want)
		})
	}
}

// testScriptLibraries runs a runner with unusable libraries, and with some whose handle is not a
// small number and whose krun_end or krun_done fails. file is a good benchmark.
func testScriptLibraries(t *testing.T, vm []string, file string) {
	t.Helper()
	const functions = "void *krun_init, *krun_should_stop, *krun_begin, *krun_end, *krun_done, " +
		"*krun_strerror; "
	const measures = `
		#define HANDLE ((void *)0x7ffffffffffffff0)
		static int calls;
		int krun_version(void) { return 1; }
		int krun_init(void **k) { *k = HANDLE; return 0; }
		int krun_should_stop(void *k) { return k != HANDLE || calls > 0; }
		int krun_begin(void *k) { return k == HANDLE ? 0 : -1; }
		int krun_end(void *k) { calls += k == HANDLE; return k == HANDLE ? END : -1; }
		int krun_done(void *k) { return k == HANDLE ? DONE : -1; }
		const char *krun_strerror(int code) { return code == -11 ? "eleven" : "?"; }
	`
	const eleven = "krun_begin or krun_end: eleven\n"
	for source, want := range map[string]expect{
		"":                              {ExitLibrary, 0, libkrun.StateNew, "", "set KRUN_LIBRARY"},
		"int other(void) { return 1; }": {ExitLibrary, 0, libkrun.StateNew, "", "cannot load libkrun"},
		functions + "int krun_version(void) { return 1000; }": {ExitLibrary, 0, libkrun.StateNew, "",
			"interface version 1000, this runner needs 1"},
		"#define END 0\n#define DONE 0\n" + measures:   {0, 0, libkrun.StateNew, "", ""},
		"#define END -11\n#define DONE 0\n" + measures: {ExitMeasure, 0, libkrun.StateNew, "", eleven},
		"#define END 0\n#define DONE -11\n" + measures: {ExitMeasure, 0, libkrun.StateNew, "", eleven},
	} {
		library := "/nowhere/libkrun.so"
		if source != "" {
			library = compile(t, source)
		}
		r := run{argv: slices.Concat(vm, []string{file, "1"}), iterations: 1,
			env: []string{"KRUN_LIBRARY=" + library}}
		r.do(t).check(t, want)
	}
}

// testScriptDefault starts a runner without KRUN_LIBRARY, by a relative path: it uses the library
// in its own directory, or else the one that was built with it.
func testScriptDefault(t *testing.T, vm []string, file string) {
	t.Helper()
	runner := vm[len(vm)-1]
	relative := must.Get(filepath.Rel("/", runner))(t)
	vm = append(slices.Clone(vm[:len(vm)-1]), relative)
	r := run{argv: slices.Concat(vm, []string{file, "1"}), iterations: 2, dir: "/",
		env: []string{"KRUN_LIBRARY="}}
	r.do(t).check(t, expect{0, 2, libkrun.StateDone, "", ""})

	dir := t.TempDir()
	text := must.Get(os.ReadFile(runner))(t)
	for name, content := range map[string]string{filepath.Base(runner): string(text),
		"libkrun.so": "beside"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	r.argv, r.dir = slices.Concat(vm[:len(vm)-1], []string{filepath.Base(runner), file, "1"}), dir
	r.do(t).check(t, expect{ExitLibrary, 0, libkrun.StateNew, "", "cannot load libkrun: "})
}

// built is the directory of the built runners, or "" if they could not be built, for the reason in
// notBuilt.
var built, notBuilt string

// TestMain builds the runners once for all tests.
func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "krun-runners-")
	if err != nil {
		notBuilt = err.Error()
		return m.Run()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := runnertest.CopyRunners(dir, "../build"); err != nil {
		notBuilt = err.Error()
		return m.Run()
	}
	out, err := exec.CommandContext(context.Background(), "make", "--silent", "build",
		"BUILD="+dir).CombinedOutput()
	if err != nil {
		notBuilt = fmt.Sprintf("make build: %v\n%s", err, out)
	} else {
		built = dir
	}
	return m.Run()
}

// needBuilt skips a test if there is no C compiler, and fails it if a compiler could not build the
// runners.
func needBuilt(t *testing.T) {
	t.Helper()
	runnertest.Compiler(t)
	must.Need(t, built != "", notBuilt)
}

// run is one process execution as krund starts it.
type run struct {
	argv       []string
	dir        string // the working directory, "" for an empty one
	iterations int
	stopped    bool     // the stop flag is set before the start
	env        []string // added to the environment
	noBuffer   bool     // the variable names a descriptor that is not there
	instrument string   // the level of instrumentation, "" for none
}

// ended is the result of an execution.
type ended struct {
	status         int
	stdout, stderr string
	series         libkrun.Series
}

func (r run) do(t *testing.T) ended {
	t.Helper()
	spec := libkrun.Spec{Iterations: r.iterations, UserColumns: 16}
	if r.instrument == "events" {
		spec.Events = 1 << 12
	}
	buffer := must.Get(libkrun.Create(spec))(t)
	defer func() { _ = buffer.Close() }()
	if r.stopped {
		must.Do(t, buffer.Stop())
	}
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), r.argv[0], r.argv[1:]...)
	c.Dir = r.dir
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	c.Env = append([]string{"KRUN_BUFFER_FD=3", "KRUN_LIBRARY=" + filepath.Join(built, "lib", "libkrun.so")},
		r.env...)
	if r.instrument != "" {
		c.Env = append(c.Env, "KRUN_INSTRUMENT="+r.instrument)
	}
	c.Stdout, c.Stderr = &stdout, &stderr
	if !r.noBuffer {
		c.ExtraFiles = []*os.File{buffer.File()}
	}
	var exit *exec.ExitError
	err := c.Run()
	must.Need(t, err == nil || errors.As(err, &exit), err)
	series := must.Get(buffer.Read())(t)
	must.Be(t, len(series.Findings) <= 0, "findings", series.Findings)
	must.Be(t, series.Pid == 0 || series.Pid == c.Process.Pid, "process", series.Pid, "attached, started",
		c.Process.Pid)
	return ended{c.ProcessState.ExitCode(), stdout.String(), stderr.String(), series}
}

// expect is the expected result of a test.
type expect struct {
	status int
	done   int
	state  libkrun.State
	stdout string // the whole of it
	stderr string // a part of it
}

func (e ended) check(t *testing.T, want expect) {
	t.Helper()
	must.Be(t, e.status == want.status && e.series.Done == want.done && e.series.State == want.state,
		"status", e.status, e.series.Done, "iterations, state", e.series.State, want.status, want.done,
		want.state, "stdout", e.stdout, "stderr", e.stderr)
	must.Equal(t, e.stdout, want.stdout, "stdout")
	must.Be(t, strings.Contains(e.stderr, want.stderr) && (want.stderr != "" || e.stderr == ""), "stderr",
		e.stderr, "want", want.stderr, "in it")
}

// write creates a file in a new directory and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestCommandFailure(t *testing.T) {
	const words = "runner: the command ended with exit status 3"
	for _, test := range []struct {
		status      int
		words, want string
	}{
		{ExitCommand, words, "the command ended with exit status 3"},
		{ExitBenchmark, "runner: cannot start x: No such file", "cannot start x: No such file"},
		{ExitCommand, "something else", ""}, {ExitUsage, words, ""}, {0, words, ""},
	} {
		got, ok := CommandFailure(test.status, test.words)
		must.Be(t, ok == (test.want != "") && (!ok || got == test.want), test.status, test.words, got, ok)
	}
}

func TestExplain(t *testing.T) {
	seen := make(map[string]int)
	for _, status := range []int{ExitUsage, ExitNoEntry, ExitBenchmark, ExitLibrary, ExitException, ExitInit,
		ExitMeasure} {
		text := Explain(status)
		other, ok := seen[text]
		must.Be(t, text != "" && !ok, "status", status, text, "as", other)
		seen[text] = status
	}
	for _, status := range []int{0, 1, 2, 127, 139} {
		must.Equal(t, Explain(status), "", "status", "is not a runner's, but explained as")
	}
}
