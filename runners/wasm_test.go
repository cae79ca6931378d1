package runners

import (
	"os/exec"
	"path/filepath"
	"testing"

	libkrun "krund/cgo"
	"krund/runners/runnertest"
)

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
