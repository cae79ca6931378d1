package runners

import (
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

// testScriptLibraries runs a runner with unusable libraries.
func testScriptLibraries(t *testing.T, vm []string, file string) {
	t.Helper()
	functions := "void *krun_init, *krun_should_stop, *krun_begin, *krun_end, *krun_done, *krun_strerror;"
	for source, complaint := range map[string]string{
		"int other(void) { return 1; }":                        "cannot load libkrun",
		functions + " int krun_version(void) { return 1000; }": "interface version 1000, this runner needs 1",
	} {
		r := run{argv: slices.Concat(vm, []string{file, "1"}), iterations: 1,
			env: []string{"KRUN_LIBRARY=" + compile(t, source)}}
		r.do(t).check(t, expect{ExitLibrary, 0, libkrun.StateNew, "", complaint})
	}
}

// testScriptRefused runs a runner with a libkrun whose krun_begin or krun_end fails.
func testScriptRefused(t *testing.T, vm []string, file string) {
	t.Helper()
	refusing := compile(t, `
		int krun_version(void) { return 1; }
		const char *krun_strerror(int e) { return e == -11 ? "out of order" : "?"; }
		int krun_init(void **k) { static int handle; *k = &handle; return 0; }
		int krun_should_stop(void *k) { (void)k; return 0; }
		int krun_begin(void *k) { (void)k; return -11; }
		int krun_end(void *k) { (void)k; return -11; }
		int krun_done(void *k) { (void)k; return 0; }`)
	r := run{argv: slices.Concat(vm, []string{file, "1"}), iterations: 1,
		env: []string{"KRUN_LIBRARY=" + refusing}}
	r.do(t).check(t, expect{ExitMeasure, 0, libkrun.StateNew, "", "krun_begin or krun_end: out of order"})
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
