package runners

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// compileCSharp compiles a file to a library and returns its path. It skips the test if there is no
// compiler.
func compileCSharp(t testing.TB, file string) string {
	t.Helper()
	if _, err := exec.LookPath("mcs"); err != nil {
		t.Skipf("no compiler for C#: %v", err)
	}
	library := filepath.Join(t.TempDir(), "bench.dll")
	if out, err := exec.CommandContext(t.Context(), "mcs", "-target:library", "-out:"+library,
		file).CombinedOutput(); err != nil {
		t.Fatalf("mcs: %v\n%s", err, out)
	}
	return library
}

func TestDotnet(t *testing.T) {
	needBuilt(t)
	cases := compileCSharp(t, "testdata/Cases.cs")
	other := compileCSharp(t, write(t, "bench.cs", "public class Other { static void run_iter(int n) {} }"))
	broken := write(t, "bench.dll", "MZ")
	ready, done, fresh := libkrun.StateReady, libkrun.StateDone, libkrun.StateNew
	for vm, path := range runnertest.Interpreters(t, "dotnet") {
		for _, test := range []struct {
			name string
			args []string
			run  run
			want expect
		}{
			{"measures", []string{cases, "3"}, run{iterations: 20}, expect{0, 20, done, "", ""}},
			{"stopped", []string{cases, "3"}, run{iterations: 20, stopped: true}, expect{0, 0, done, "", ""}},
			{"print", []string{cases, "-42"}, run{iterations: 2}, expect{0, 2, done, "-42\n-42\n", ""}},
			{"thread", []string{cases, "1"}, run{iterations: 2}, expect{0, 2, done, "", ""}},
			{"wrong", []string{cases, "1"}, run{iterations: 10}, expect{1, 3, ready, "bad checksum\n", ""}},
			{"exception", []string{cases, "1"}, run{iterations: 10}, expect{ExitException, 2, ready, "",
				"raised an exception in run_iter: System.InvalidOperationException: the third\n"}},
			{"load", []string{cases, "1"}, run{iterations: 10}, expect{ExitBenchmark, 0, ready, "",
				"bench.dll: System.InvalidOperationException: no data\n"}},
			{"not public", []string{other, "1"}, run{iterations: 1}, expect{ExitNoEntry, 0, ready, "",
				"bench.dll has no function run_iter"}},
			{"not an assembly", []string{broken, "1"}, run{iterations: 1},
				expect{ExitBenchmark, 0, ready, "", "System.BadImageFormatException"}},
			{"no file", []string{"/nowhere/bench.dll", "1"}, run{iterations: 1},
				expect{ExitBenchmark, 0, ready, "", "System.IO.FileNotFoundException"}},
			{"no parameter", []string{cases}, run{iterations: 1}, expect{ExitUsage, 0, fresh, "", "usage: "}},
			{"plus sign", []string{cases, "+1"}, run{iterations: 1},
				expect{ExitUsage, 0, fresh, "", "usage: "}},
			{"large parameter", []string{cases, "2147483648"}, run{iterations: 1},
				expect{ExitUsage, 0, fresh, "", "usage: "}},
			{"no buffer", []string{cases, "1"}, run{iterations: 1, noBuffer: true},
				expect{ExitInit, 0, fresh, "", "krun_init: the descriptor"}},
		} {
			t.Run(vm+" "+test.name, func(t *testing.T) {
				test.run.argv = slices.Concat([]string{path, dotnetRunner()}, test.args)
				test.run.env = append(test.run.env, "CASE="+test.name)
				test.run.do(t).check(t, test.want)
			})
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
