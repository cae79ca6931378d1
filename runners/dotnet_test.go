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
