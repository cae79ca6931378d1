package runners

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// javaCases name classes of testdata/Cases.java.
var javaCases = []struct {
	name  string
	class string
	args  []string
	run   run
	want  expect
}{
	{"measures", "Sums", []string{"100"}, run{iterations: 20}, expect{0, 20, libkrun.StateDone, "", ""}},
	{"measures until it is compiled", "Sums", []string{"1"}, run{iterations: 100_000},
		expect{0, 100_000, libkrun.StateDone, "", ""}},
	{"stopped", "Sums", []string{"100"}, run{iterations: 20, stopped: true}, expect{0, 0, libkrun.StateDone,
		"", ""}},
	{"gets the parameter and prints", "Prints", []string{"-7"}, run{iterations: 2},
		expect{0, 2, libkrun.StateDone, "-7\n-7\n", ""}},
	{"as for Krun", "KrunEntry", []string{"3"}, run{iterations: 2}, expect{0, 2, libkrun.StateDone,
		"data6 data6 ", ""}},
	{"leaves a thread", "LeavesThread", []string{"1"}, run{iterations: 2}, expect{0, 2, libkrun.StateDone, "",
		""}},
	{"wrong checksum", "WrongChecksum", []string{"1"}, run{iterations: 10}, expect{1, 3, libkrun.StateReady,
		"bad checksum\n", ""}},
	{"exit", "Exits", []string{"5"}, run{iterations: 10}, expect{5, 0, libkrun.StateReady, "", ""}},
	{"exception", "Raises", []string{"1"}, run{iterations: 10}, expect{ExitException, 2, libkrun.StateReady,
		"", "\nKrunRunner: Raises raised an exception in run_iter: java.lang.IllegalStateException: the " +
			"third\n"}},
	{"trace", "Raises", []string{"1"}, run{iterations: 10}, expect{ExitException, 2, libkrun.StateReady, "",
		"at Raises.run_iter(Cases.java:"}},
	{"unspeakable exception", "RaisesUnspeakable", []string{"1"}, run{iterations: 10},
		expect{ExitException, 0, libkrun.StateReady, "",
			"RaisesUnspeakable raised an exception in run_iter: RaisesUnspeakable$Odd"}},
	{"stack overflow", "Overflows", []string{"1"}, run{iterations: 10}, expect{ExitException, 0,
		libkrun.StateReady, "", "java.lang.StackOverflowError"}},
	{"no entry", "NoEntry", []string{"1"}, run{iterations: 1}, expect{ExitNoEntry, 0, libkrun.StateReady, "",
		"NoEntry has no function run_iter: it does not implement BaseKrunEntry"}},
	{"no file", "Nowhere", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0, libkrun.StateReady, "",
		"cannot load the benchmark: java.lang.ClassNotFoundException: Nowhere"}},
	{"no class file", "Broken", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "cannot load the benchmark: java.lang.ClassFormatError"}},
	{"cannot be made", "Abstract", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "cannot load the benchmark: java.lang.InstantiationException"}},
	{"needs an argument", "NeedsArgument", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "cannot load the benchmark: java.lang.NoSuchMethodException: NeedsArgument"}},
	{"exception at load", "RaisesAtLoad", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "RaisesAtLoad raised an exception while it was loaded: " +
			"java.lang.ArithmeticException"}},
	{"exception when made", "RaisesWhenMade", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "RaisesWhenMade raised an exception while it was loaded: " +
			"java.io.IOException: no data"}},
	{"exit at load", "ExitsAtLoad", []string{"1"}, run{iterations: 1}, expect{5, 0, libkrun.StateReady, "",
		""}},
	{"no parameter", "Sums", nil, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	{"two parameters", "Sums", []string{"1", "2"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew,
		"", "usage: "}},
	{"text as parameter", "Sums", []string{"1x"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew,
		"", "usage: "}},
	{"plus sign", "Sums", []string{"+1"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "",
		"usage: "}},
	{"large parameter", "Sums", []string{"2147483648"}, run{iterations: 1},
		expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	{"no buffer", "Sums", []string{"1"}, run{iterations: 1, noBuffer: true},
		expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: the descriptor"}},
	{"bad variable", "Sums", []string{"1"}, run{iterations: 1, env: []string{"KRUN_BUFFER_FD=x"}},
		expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: KRUN_BUFFER_FD"}},
}

func TestJava(t *testing.T) {
	needBuilt(t)
	needJava(t)
	classes := compileJava(t)
	for name, path := range runnertest.Interpreters(t, "java") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm := javaVM(t, path)
			for _, test := range javaCases {
				t.Run(test.name, func(t *testing.T) {
					test.run.argv = append(javaArgv(vm, classes, test.class), test.args...)
					test.run.do(t).check(t, test.want)
				})
			}
			t.Run("no memory", func(t *testing.T) {
				r := run{argv: append(javaArgv(append(vm, "-Xmx16m", "-XX:+UseSerialGC"), classes,
					"FillsMemory"), "16"), iterations: 10}
				r.do(t).check(t, expect{ExitException, 0, libkrun.StateReady, "",
					"java.lang.OutOfMemoryError"})
			})
			t.Run("libraries", func(t *testing.T) { testJavaLibraries(t, vm, classes) })
		})
	}
}

// needJava skips a test if the runner was not built because there is no compiler.
func needJava(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skipf("no compiler for Java: %v", err)
	}
}

// compileJava compiles the benchmarks of testdata/Cases.java, for every JVM that can run the
// runner, and returns their directory. It also contains a file that is not a class and the data
// file of a benchmark.
func compileJava(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	javac(t, dir, "testdata/Cases.java")
	for name, text := range map[string]string{"Broken.class": "class Broken {}\n", "data.txt": "data\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return dir
}

// javac compiles a file into a directory, for Java 8 if the compiler supports it.
func javac(t testing.TB, dir, file string) {
	t.Helper()
	args := []string{"-cp", filepath.Join(built, "runners", "java"), "-d", dir, file}
	old := append([]string{"--release", "8", "-Xlint:-options"}, args...)
	if exec.CommandContext(t.Context(), "javac", old...).Run() == nil {
		return
	}
	if out, err := exec.CommandContext(t.Context(), "javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
}

// javaVM returns the command of a JVM, with the option that prevents warnings about native methods
// if the JVM knows it.
func javaVM(t testing.TB, path string) []string {
	t.Helper()
	quiet := "--enable-native-access=ALL-UNNAMED"
	if exec.CommandContext(t.Context(), path, quiet, "-version").Run() == nil {
		return []string{path, quiet}
	}
	return []string{path}
}

// javaArgv returns the command line for a class in a directory.
func javaArgv(vm []string, directory, class string) []string {
	return append(vm[:len(vm):len(vm)], "-cp", filepath.Join(built, "runners", "java")+":"+directory,
		"KrunRunner", class)
}

// testJavaLibraries installs unusable libraries and a failing one beside the runner.
func testJavaLibraries(t *testing.T, vm []string, classes string) {
	const (
		version = "int Java_KrunRunner_version(void) { return 1; }"
		failing = version + `
			long Java_KrunRunner_init(void) { return 1; }
			int Java_KrunRunner_instrument(void) { return 0; }
			int Java_KrunRunner_shouldStop(void) { return 0; }
			void Java_KrunRunner_begin(void) { }
			int Java_KrunRunner_end(void *env, void *class, long k) { return k ? -11 : -1; }
			int Java_KrunRunner_done(void) { return 0; }
			void Java_KrunRunner_halt(void) { }
			int Java_KrunRunner_explanation(void *env, void *class, int code, int i) { return i < -code ? 'x' : 0; }`
	)
	for source, want := range map[string]expect{
		"": {ExitLibrary, 0, libkrun.StateNew, "",
			"cannot load libkrunjava.so: java.lang.UnsatisfiedLinkError: Can't load library"},
		"int other(void) { return 1; }": {ExitLibrary, 0, libkrun.StateNew, "",
			"install it beside KrunRunner.class"},
		version: {ExitLibrary, 0, libkrun.StateNew, "",
			"install it beside KrunRunner.class"},
		"int Java_KrunRunner_version(void) { return 1000; }": {ExitLibrary, 0, libkrun.StateNew, "",
			"interface version 1000, this runner needs 1"},
		failing: {ExitMeasure, 0, libkrun.StateNew, "", "krun_begin or krun_end: xxxxxxxxxxx\n"},
	} {
		dir := filepath.Join(t.TempDir(), "a directory, 100%")
		must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join(built, "runners", "java"))))
		library := filepath.Join(dir, "libkrunjava.so")
		must.Do(t, os.Remove(library))
		if source != "" {
			must.Do(t, os.Rename(compile(t, source), library))
		}
		r := run{argv: append(vm[:len(vm):len(vm)], "-cp", dir+":"+classes, "KrunRunner", "Sums", "1"),
			iterations: 3}
		r.do(t).check(t, want)
	}
}

// benchmarkEmptyJava measures the overhead of the runner in each JVM.
func benchmarkEmptyJava(b *testing.B) {
	b.Run("java", func(b *testing.B) {
		needJava(b)
		dir := b.TempDir()
		file := filepath.Join(dir, "KrunEntry.java")
		must.Do(b, os.WriteFile(file, []byte("class KrunEntry implements BaseKrunEntry { public void "+
			"run_iter(int n) { } }\n"), 0o644))
		javac(b, dir, file)
		vms := runnertest.Interpreters(b, "java")
		for _, name := range slices.Sorted(maps.Keys(vms)) {
			b.Run(name, func(b *testing.B) {
				measureEmpty(b, javaArgv(javaVM(b, vms[name]), dir, "KrunEntry")...)
			})
		}
	})
}
