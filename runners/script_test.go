package runners

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
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
