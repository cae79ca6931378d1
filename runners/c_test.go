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
	tests := []struct {
		name   string
		source string // "" for a file that is not there
		args   []string
		run    run
		want   expect
	}{
		{"measures", good, []string{"3"}, run{iterations: 20}, expect{0, 20, libkrun.StateDone, "", ""}},
		{"void", "void run_iter(int n) {}", []string{"-3"}, run{iterations: 1},
			expect{0, 1, libkrun.StateDone, "", ""}},
		{"stopped", good, []string{"3"}, run{iterations: 20, stopped: true}, expect{0, 0, libkrun.StateDone,
			"", ""}},
		{
			"gets the parameter and prints",
			`#include <stdio.h>
			void run_iter(int n) { printf("%d\n", n); }`,
			[]string{"42"}, run{iterations: 2}, expect{0, 2, libkrun.StateDone, "42\n42\n", ""},
		},
		{
			"wrong checksum",
			`#include <stdio.h>
			#include <stdlib.h>
			void run_iter(int n) { static int i; if (++i == 4) { printf("bad checksum\n"); exit(1); } }`,
			[]string{"1"}, run{iterations: 10}, expect{1, 3, libkrun.StateReady, "bad checksum\n", ""},
		},
		{
			"crash",
			`#include <stdlib.h>
			void run_iter(int n) { static int i; if (++i == 3) abort(); }`,
			[]string{"1"}, run{iterations: 10}, expect{-1, 2, libkrun.StateReady, "", ""},
		},
		{"no entry", "int run_it(int n) { return n; }", []string{"1"}, run{iterations: 1},
			expect{ExitNoEntry, 0, libkrun.StateReady, "", "bench.so: has no function run_iter"}},
		{"unresolved symbol", "int missing(int); int run_iter(int n) { return missing(n); }", []string{"1"},
			run{iterations: 1}, expect{ExitBenchmark, 0, libkrun.StateReady, "",
				"undefined symbol: missing"}},
		{"no file", "", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0, libkrun.StateReady, "",
			"cannot load the benchmark: "}},
		{"no parameter", good, nil, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "",
			"usage: "}},
		{"two parameters", good, []string{"1", "2"}, run{iterations: 1},
			expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
		{"text as parameter", good, []string{"1x"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew,
			"", "usage: "}},
		{"large parameter", good, []string{"2147483648"}, run{iterations: 1},
			expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
		{"no buffer", good, []string{"1"}, run{iterations: 1, noBuffer: true},
			expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: the descriptor"}},
	}
	for _, test := range tests {
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
