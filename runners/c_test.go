package runners

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// command is a run of the runner for whole commands.
func command(iterations int, args ...string) run {
	return run{argv: append([]string{filepath.Join(built, "runners", "command", "runner")}, args...),
		iterations: iterations, env: []string{"PATH=/usr/bin:/bin"}}
}

func TestCommandRunner(t *testing.T) {
	needBuilt(t)
	tests := []struct {
		name string
		run  run
		want expect
	}{
		{"measures", command(3, "true"), expect{0, 3, libkrun.StateDone, "", ""}},
		{"absolute path", command(1, "--", "/bin/true"), expect{0, 1, libkrun.StateDone, "", ""}},
		{"its output is discarded, its messages are kept", command(2, "sh", "-c", "echo out; echo err >&2"),
			expect{0, 2, libkrun.StateDone, "", "err\nerr\n"}},
		{"standard input is empty", command(1, "sh", "-c", `! read line`),
			expect{0, 1, libkrun.StateDone, "", ""}},
		{"does not find the buffer", command(1, "sh", "-c", `[ -z "$KRUN_BUFFER_FD$KRUN_LIBRARY" ]`),
			expect{0, 1, libkrun.StateDone, "", ""}},
		{"fails", command(5, "sh", "-c", "exit 3"), expect{ExitCommand, 1, libkrun.StateReady, "",
			"runner: the command ended with exit status 3"}},
		{"killed", command(5, "sh", "-c", "kill -SEGV $$"), expect{ExitCommand, 1, libkrun.StateReady, "",
			"runner: the command was ended by signal 11"}},
		{"a failure is ignored", command(2, "--ignore-failure", "false"),
			expect{0, 2, libkrun.StateDone, "", ""}},
		{"prepare fails", command(2, "--prepare", "exit 4", "true"), expect{ExitCommand, 0,
			libkrun.StateReady, "",
			"runner: the command before each run (--prepare) ended with exit status 4"}},
		{"no such program", command(2, "krund-no-such-program"), expect{ExitBenchmark, 0,
			libkrun.StateReady, "", "cannot start krund-no-such-program: No such file or directory"}},
		{"no such directory", command(2, "--directory", "/nonexistent", "true"), expect{ExitBenchmark, 0,
			libkrun.StateReady, "", "runner: cannot enter /nonexistent: No such file or directory"}},
		{"no program", command(2, "--warmup", "3"), expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
		{"no such option", command(2, "--times", "3", "true"), expect{ExitUsage, 0, libkrun.StateNew, "",
			"usage: "}},
		{"no number", command(2, "--warmup", "x", "true"), expect{ExitUsage, 0, libkrun.StateNew, "",
			"usage: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run.do(t).check(t, test.want)
		})
	}
}

// TestCommandAround: the order of the commands around two iterations after a warm-up of one.
func TestCommandAround(t *testing.T) {
	needBuilt(t)
	dir := t.TempDir()
	r := command(2, "--directory", dir, "--setup", "echo setup >> log", "--prepare", "echo prepare >> log",
		"--conclude", "echo conclude >> log", "--cleanup", "echo cleanup >> log", "--warmup", "1",
		"sh", "-c", "echo run >> log")
	r.do(t).check(t, expect{0, 2, libkrun.StateDone, "", ""})
	log := must.Get(os.ReadFile(filepath.Join(dir, "log")))(t)
	const round = "prepare run conclude "
	got, want := strings.Join(strings.Fields(string(log)), " "), "setup "+strings.Repeat(round, 3)+"cleanup"
	must.Equal(t, got, want, "order")
}

// TestCommandColumns: the processor time, memory and exit status of each run.
func TestCommandColumns(t *testing.T) {
	needBuilt(t)
	e := command(2, "--ignore-failure", "sh", "-c", "kill -TERM $$").do(t)
	e.check(t, expect{0, 2, libkrun.StateDone, "", ""})
	names := []string{"user", "system", "maxrss", "exit"}
	must.Need(t, len(e.series.Columns) == len(names), "columns", e.series.Columns)
	for i, c := range e.series.Columns {
		v := c.Values[1]
		must.Be(t, c.Name == names[i] && v >= 0 && (c.Name != "maxrss" || v >= 1<<16) &&
			(c.Name != "exit" || v == 128+15), c)
	}
}

// TestCommandTurns: several programs run in turns. Each round has each as often as its --runs say,
// in an order of its own; what belongs to a program stays with it.
func TestCommandTurns(t *testing.T) {
	needBuilt(t)
	one, two := t.TempDir(), t.TempDir()
	e := command(12, "--seed", "7", "--directory", one, "--prepare", "echo prepare >>log", "--runs", "2",
		"--also", "3", "sh", "-c", "echo first >>log", "--directory", two, "--label", "another",
		"--", "sh", "-c", "echo second >>log").do(t)
	e.check(t, expect{0, 12, libkrun.StateDone, "", ""})
	column := e.series.Columns[len(e.series.Columns)-1]
	must.Need(t, column.Name == "command", e.series.Columns)
	orders := map[string]bool{}
	for round := range 4 {
		var order strings.Builder
		for _, v := range column.Values[3*round : 3*round+3] {
			order.WriteByte(byte('0' + v))
		}
		must.Be(t, strings.Count(order.String(), "0") == 2 && strings.Count(order.String(), "1") == 1, order)
		orders[order.String()] = true
	}
	must.Be(t, len(orders) > 1, "every round has the order", orders)
	for dir, want := range map[string]string{one: strings.Repeat("prepare first ", 8),
		two: strings.Repeat("second ", 4)} {
		log := must.Get(os.ReadFile(filepath.Join(dir, "log")))(t)
		must.Equal(t, strings.Join(strings.Fields(string(log)), " ")+" ", want)
	}
	command(2, "--label", "a", "--also", "1", "true", "--label", "b", "false").do(t).check(t,
		expect{ExitCommand, 2, libkrun.StateReady, "", "runner: b: the command ended with exit status 1"})
	for _, wrong := range [][]string{
		{"--also", "2", "true"}, {"--also", "1", "true"}, {"--runs", "0", "true"},
		{"--also", "x", "true", "true"}} {
		command(1, wrong...).do(t).check(t, expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "})
	}
}

// TestCommandFiles: what the programs read and where they write.
func TestCommandFiles(t *testing.T) {
	needBuilt(t)
	dir := t.TempDir()
	in, out, messages := filepath.Join(dir, "in"), filepath.Join(dir, "out"), filepath.Join(dir, "messages")
	must.Do(t, os.WriteFile(in, []byte("some\n"), 0o600))
	command(2, "--input", in, "--output", out, "--messages", messages, "sh", "-c", "cat; echo err >&2").do(t).
		check(t, expect{0, 2, libkrun.StateDone, "", ""})
	for path, want := range map[string]string{out: "some\n", messages: "err\n"} {
		must.Equal(t, string(must.Get(os.ReadFile(path))(t)), want)
	}
	// a silent program after it does not empty the file
	command(4, "--output", out, "--also", "2", "echo", "kept", "--silent", "1", "true").do(t).
		check(t, expect{0, 4, libkrun.StateDone, "", ""})
	must.Equal(t, string(must.Get(os.ReadFile(out))(t)), "kept\n")
	// more than a pipe holds
	command(2, "--output", "pipe", "sh", "-c", "test -p /dev/stdout && head -c 1000000 /dev/zero").do(t).
		check(t, expect{0, 2, libkrun.StateDone, "", ""})
}

// compileCSharp compiles a file to a library and returns its path. It skips the test if there is no
// compiler.
func compileCSharp(t testing.TB, file string) string {
	t.Helper()
	if _, err := exec.LookPath("mcs"); err != nil {
		t.Skipf("no compiler for C#: %v", err)
	}
	library := filepath.Join(t.TempDir(), "bench.dll")
	out, err := exec.CommandContext(t.Context(), "mcs", "-target:library", "-out:"+library,
		file).CombinedOutput()
	must.Do(t, err, "mcs", out)
	return library
}

func TestDotnet(t *testing.T) {
	needBuilt(t)
	cases := compileCSharp(t, "testdata/Cases.cs")
	other := compileCSharp(t, write(t, "bench.cs", "public class Other { static void run_iter(int n) {} }"))
	broken := write(t, "bench.dll", "MZ")
	for vm, path := range runnertest.Interpreters(t, "dotnet") {
		for _, test := range append(common("", 20, "3", "+1", "2147483648"),
			prints("prints", "print", "-42", 2, "-42\n-42\n"),
			prints("leaves a thread", "thread", "1", 2, ""),
			checks("wrong"),
			raises("exception", "raised an exception in run_iter: "+
				"System.InvalidOperationException: the third\n"),
			fails("exception at load", "load", ExitBenchmark,
				"bench.dll: System.InvalidOperationException: no data\n"),
		) {
			t.Run(vm+" "+test.name, func(t *testing.T) {
				test.run.argv = slices.Concat([]string{path, dotnetRunner(), cases}, test.args)
				test.run.env = append(test.run.env, "CASE="+test.source)
				test.run.do(t).check(t, test.want)
			})
		}
		for file, want := range map[string]expect{
			other:  {ExitNoEntry, 0, libkrun.StateReady, "", "bench.dll has no function run_iter"},
			broken: {ExitBenchmark, 0, libkrun.StateReady, "", "System.BadImageFormatException"},
			"/nowhere/bench.dll": {ExitBenchmark, 0, libkrun.StateReady, "",
				"System.IO.FileNotFoundException"},
		} {
			run{argv: []string{path, dotnetRunner(), file, "1"}, iterations: 1}.do(t).check(t, want)
		}
		t.Run(vm+" libraries", func(t *testing.T) { testDotnetLibraries(t, path, cases) })
	}
}

func dotnetRunner() string { return filepath.Join(built, "runners", "dotnet", "KrunRunner.exe") }

// testDotnetLibraries installs unusable libraries beside the runner.
func testDotnetLibraries(t *testing.T, vm, benchmark string) {
	for source, complaint := range map[string]string{
		"":                              "cannot load libkrun: System.DllNotFoundException: ",
		"int other(void) { return 1; }": "cannot load libkrun: System.EntryPointNotFoundException: ",
		"int krun_version(void) { return 1000; }": "interface version 1000, this runner needs 1",
	} {
		dir := t.TempDir()
		must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Dir(dotnetRunner()))))
		library := filepath.Join(dir, "libkrun.so")
		must.Do(t, os.Remove(library))
		if source != "" {
			must.Do(t, os.Rename(compile(t, source), library))
		}
		r := run{argv: []string{vm, filepath.Join(dir, "KrunRunner.exe"), benchmark, "1"}, iterations: 3}
		r.do(t).check(t, expect{ExitLibrary, 0, libkrun.StateNew, "", complaint})
	}
}
