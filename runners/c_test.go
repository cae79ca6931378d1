package runners

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// compile compiles C source text to a shared library and returns its path.
func compile(t *testing.T, source string) string {
	t.Helper()
	from := write(t, "bench.c", source)
	to := filepath.Join(filepath.Dir(from), "bench.so")
	out, err := exec.CommandContext(t.Context(), runnertest.Compiler(t), "-shared", "-fPIC", "-w", from, "-o",
		to).CombinedOutput()
	must.Need(t, err == nil, "compile", err, out)
	return to
}

func TestC(t *testing.T) {
	needBuilt(t)
	runner := filepath.Join(built, "runners", "c", "runner")
	good := "static int calls; int run_iter(int n) { return n + calls++; }"
	const headers = "#include <stdio.h>\n#include <stdlib.h>\n"
	for _, test := range append(common(good, 20, "3", "1x", "2147483648"),
		prints("void", "void run_iter(int n) {}", "-3", 1, ""),
		prints("prints", headers+`void run_iter(int n) { printf("%d\n", n); }`, "42", 2, "42\n42\n"),
		checks(headers+`void run_iter(int n) {
			static int i; if (++i == 4) { printf("bad checksum\n"); exit(1); }
		}`),
		scriptCase{"crash", headers + "void run_iter(int n) { static int i; if (++i == 3) abort(); }",
			[]string{"1"}, run{iterations: 10}, expect{-1, 2, libkrun.StateReady, "", ""}},
		fails("no entry", "int run_it(int n) { return n; }", ExitNoEntry,
			"bench.so: has no function run_iter"),
		fails("unresolved symbol", "int missing(int); int run_iter(int n) { return missing(n); }",
			ExitBenchmark, "undefined symbol: missing"),
		fails("no file", "", ExitBenchmark, "cannot load the benchmark: "),
	) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := "/nowhere/bench.so"
			if test.source != "" {
				path = compile(t, test.source)
			}
			test.run.argv = append([]string{runner, path}, test.args...)
			test.run.do(t).check(t, test.want)
		})
	}
}

// TestCNameWithoutSlash: a name without a slash means a file in the working directory, never a
// library of the system.
func TestCNameWithoutSlash(t *testing.T) {
	needBuilt(t)
	e := run{argv: []string{filepath.Join(built, "runners", "c", "runner"), "libc.so.6", "1"},
		iterations: 1}.do(t)
	e.check(t, expect{ExitBenchmark, 0, libkrun.StateReady, "", "./libc.so.6"})
	must.Be(t, !strings.Contains(e.stderr, "run_iter"), "the system's library was loaded", e.stderr)
}
