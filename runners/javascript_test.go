package runners

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// javaScriptCases run on every VM.
var javaScriptCases = append(common(source("javascript", "good"), 20, "100", "ten", "1.5",
	"9007199254740993"),
	prints("negative", "function run_iter(n) { print(n, typeof n); }", "-7", 2,
		"-7 number\n-7 number\n"),
	prints("namesakes", source("javascript", "namesakes"), "-0", 2,
		"0 number Infinity true 1\n0 number Infinity true 2\n"),
	prints("prints much", `function run_iter(n) { print("x".repeat(n)); }`, "1000000", 1,
		strings.Repeat("x", 1_000_000)+"\n"),
	prints("byte order mark", "\ufefffunction run_iter(n) {}", "1", 1, ""),
	prints("leaves timers", source("javascript", "lingers"), "1", 3, ""),
	checks(source("javascript", "checks")),
	scriptCase{"quits", "function run_iter(n) { quit(n); }", []string{"9"}, run{iterations: 10},
		expect{9, 0, libkrun.StateReady, "", ""}},
	scriptCase{"quits with 0", "function run_iter(n) { quit(); }", []string{"9"}, run{iterations: 10},
		expect{0, 0, libkrun.StateReady, "", ""}},
	scriptCase{"own status", "process.exitCode = 3; function run_iter(n) {}", []string{"1"},
		run{iterations: 2}, expect{3, 2, libkrun.StateDone, "", ""}},
	raises(source("javascript", "raises"), "raised an exception in run_iter: RangeError: third time\n"),
	fails("text thrown", `function run_iter(n) { throw "sorry"; }`, ExitException,
		"raised an exception in run_iter: sorry\n"),
	fails("nothing thrown", `function run_iter(n) { throw undefined; }`, ExitException,
		"raised an exception in run_iter: undefined\n"),
	fails("exception that cannot be shown", source("javascript", "refuses"), ExitException,
		"raised an exception in run_iter: a thrown object\n"),
	fails("deep recursion", "function run_iter(n) { return run_iter(n) + 1; }", ExitException,
		"RangeError: Maximum call stack size exceeded\n"),
	fails("no entry", "var x = 1;", ExitNoEntry, "has no function run_iter"),
	fails("entry is no function", "var run_iter = 1;", ExitNoEntry, "has no function run_iter"),
	fails("asynchronous entry", "async function run_iter(n) {}", ExitNoEntry,
		"an iteration must be over when run_iter returns"),
	fails("entry is a generator", "function* run_iter(n) {}", ExitNoEntry,
		"an iteration must be over when run_iter returns"),
	fails("no file", "", ExitBenchmark, "cannot load /nowhere/bench.js: Error: ENOENT"),
	fails("syntax", "function run_iter(n {\n", ExitBenchmark, "bench.js: SyntaxError: "),
	fails("exception at load", "null.x;", ExitBenchmark, "bench.js: TypeError: "),
	fails("loads what is not there", `load("other.js");`, ExitBenchmark, "ENOENT"),
	fails("quits at load", "quit(5);", 5, ""),
)

func javaScriptArgv(vm, file string) []string {
	return []string{vm, scriptRunner("javascript"), file}
}

// testJavaScript: what a benchmark loads from the working directory, and modules of Node and of the
// benchmark's directory; the stack in the message of an exception; a benchmark that ends the
// iteration itself, through the addon; and unusable addons.
func testJavaScript(t *testing.T, _, vm string) {
	addon := filepath.Join(built, "runners", "javascript", "krun.node")
	testScripts(t, javaScriptArgv(vm, "")[:2], "bench.js", []scriptCase{
		prints("written there", `require("fs").writeFileSync("here.js", "function run_iter(n) {}"); load("here.js");`,
			"1", 1, ""),
		{"ended twice", "var krun = require('" + addon + "');\nfunction run_iter(n) { krun.end(); }\n",
			[]string{"1"}, run{iterations: 10}, expect{ExitMeasure, 1, libkrun.StateReady, "",
				"krun_begin or krun_end: "}},
	})
	file := write(t, "bench.js", source("javascript", "requires"))
	must.Write(t, filepath.Join(filepath.Dir(file), "beside.js"), "exports.double = (n) => 2 * n;\n")
	r := run{argv: append(javaScriptArgv(vm, file), "21"), iterations: 1}
	r.do(t).check(t, expect{0, 1, libkrun.StateDone, "42 function\n", ""})

	file = write(t, "bench.js", source("javascript", "raises"))
	e := run{argv: append(javaScriptArgv(vm, file), "1"), iterations: 10}.do(t)
	must.Be(t, strings.Contains(e.stderr, "at third ("+file+":2:") &&
		strings.Contains(e.stderr, "at run_iter ("+file+":3:"), "no trace", e.stderr)
	lines := strings.Split(strings.TrimSpace(e.stderr), "\n")
	want := "runner.js: " + file + " raised an exception in run_iter: RangeError: third time"
	must.Equal(t, lines[len(lines)-1], want, "last line")
	testJavaScriptLibrary(t, vm)
}

// testJavaScriptLibrary runs the runner with unusable addons.
func testJavaScriptLibrary(t *testing.T, vm string) {
	file := write(t, "bench.js", source("javascript", "good"))
	text := must.Get(os.ReadFile(scriptRunner("javascript")))(t)
	const empty = "void *napi_register_module_v1(void *env, void *exports) { return exports; }"
	for addon, complaint := range map[string]string{
		"":                                "cannot load libkrun: Error: ",
		empty:                             "cannot load libkrun: TypeError: ",
		"int other(void) { return 1; }":   "cannot load libkrun: Error: ",
		source("javascript", "version.c"): "interface version 1000, this runner needs 1",
	} {
		runner := write(t, "runner.js", string(text))
		if addon != "" {
			must.Do(t, os.Rename(compile(t, addon), filepath.Join(filepath.Dir(runner), "krun.node")))
		}
		r := run{argv: []string{vm, runner, file, "1"}, iterations: 1}
		r.do(t).check(t, expect{ExitLibrary, 0, libkrun.StateNew, "", complaint})
	}
}

// wasmModule returns a WebAssembly module that exports a function of one i32 under a name of eight
// letters. The function's code ends with the instructions in body.
func wasmModule(name, body string) string {
	code := "\x00" + body + "\x0b" // no local variables; end
	return "\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x01\x7f\x00" + // type section: (i32) -> ()
		"\x03\x02\x01\x00" + // function section
		"\x07\x0c\x01\x08" + name + "\x00\x00" + // export section
		"\x0a" + string(rune(len(code)+2)) + "\x01" + string(rune(len(code))) + code // code section
}

var emptyModule = wasmModule("run_iter", "")

func TestWebAssembly(t *testing.T) {
	needBuilt(t)
	ready, done := libkrun.StateReady, libkrun.StateDone
	cases := []scriptCase{
		{"measures", emptyModule, []string{"7"}, run{iterations: 20}, expect{0, 20, done, "", ""}},
		{"negative", emptyModule, []string{"-7"}, run{iterations: 2}, expect{0, 2, done, "", ""}},
		{"trap", wasmModule("run_iter", "\x00"), []string{"1"}, run{iterations: 2}, // unreachable
			expect{ExitException, 0, ready, "", "exception in run_iter: RuntimeError: unreachable\n"}},
		{"no entry", wasmModule("run_item", ""), []string{"1"}, run{iterations: 2},
			expect{ExitNoEntry, 0, ready, "", "has no function run_iter"}},
		{"not a module", "(module)", []string{"1"}, run{iterations: 2},
			expect{ExitBenchmark, 0, ready, "", "bench.wasm: CompileError: "}},
		{"no file", "", []string{"1"}, run{iterations: 2}, expect{ExitBenchmark, 0, ready, "", "ENOENT"}},
		{"large parameter", emptyModule, []string{"2147483648"}, run{iterations: 2},
			expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	}
	runner := filepath.Join(built, "runners", "javascript", "runner.js")
	for name, path := range runnertest.Interpreters(t, "javascript") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testScripts(t, []string{path, runner}, "bench.wasm", cases)
			t.Run("system interface", func(t *testing.T) {
				testWASI(t, append(runnertest.NodeWithWASI(t, path), runner))
			})
		})
	}
}

// testWASI runs a module that prints and exits.
func testWASI(t *testing.T, vm []string) {
	module := filepath.Join(t.TempDir(), "bench.wasm")
	source := write(t, "bench.c", `#include <stdio.h>
		#include <stdlib.h>
		static int i;
		void run_iter(int n) { printf("%d\n", n); if (++i == 4) exit(3); }`)
	if out, err := exec.CommandContext(t.Context(), "clang", "--target=wasm32-wasi", "-mexec-model=reactor",
		"-Wl,--export=run_iter", source, "-o", module).CombinedOutput(); err != nil {
		t.Skipf("no compiler for the WebAssembly system interface: %v: %s", err, out)
	}
	r := run{argv: append(vm, module, "5"), iterations: 10}
	r.do(t).check(t, expect{3, 3, libkrun.StateReady, "5\n5\n5\n5\n", ""})
}
