package runners

import (
	"maps"
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

// javaCases have the names of classes of testdata/Cases.java as sources.
var javaCases = append(common("Sums", 20, "100", "1x", "+1", "2147483648"),
	prints("measures until it is compiled", "Sums", "1", 100_000, ""),
	prints("gets the parameter and prints", "Prints", "-7", 2, "-7\n-7\n"),
	prints("as for Krun", "KrunEntry", "3", 2, "data6 data6 "),
	prints("leaves a thread", "LeavesThread", "1", 2, ""),
	checks("WrongChecksum"),
	scriptCase{"exit", "Exits", []string{"5"}, run{iterations: 10}, expect{5, 0, libkrun.StateReady, "", ""}},
	raises("Raises", "\nKrunRunner: Raises raised an exception in run_iter: "+
		"java.lang.IllegalStateException: the third\n"),
	raises("Raises", "at Raises.run_iter(Cases.java:"),
	fails("unspeakable exception", "RaisesUnspeakable", ExitException,
		"RaisesUnspeakable raised an exception in run_iter: RaisesUnspeakable$Odd"),
	fails("stack overflow", "Overflows", ExitException, "java.lang.StackOverflowError"),
	fails("no entry", "NoEntry", ExitNoEntry,
		"NoEntry has no function run_iter: it does not implement BaseKrunEntry"),
	fails("no file", "Nowhere", ExitBenchmark,
		"cannot load the benchmark: java.lang.ClassNotFoundException: Nowhere"),
	fails("no class file", "Broken", ExitBenchmark, "cannot load the benchmark: java.lang.ClassFormatError"),
	fails("cannot be made", "Abstract", ExitBenchmark,
		"cannot load the benchmark: java.lang.InstantiationException"),
	fails("needs an argument", "NeedsArgument", ExitBenchmark,
		"cannot load the benchmark: java.lang.NoSuchMethodException: NeedsArgument"),
	fails("exception at load", "RaisesAtLoad", ExitBenchmark,
		"RaisesAtLoad raised an exception while it was loaded: java.lang.ArithmeticException"),
	fails("exception when made", "RaisesWhenMade", ExitBenchmark,
		"RaisesWhenMade raised an exception while it was loaded: java.io.IOException: no data"),
	fails("exit at load", "ExitsAtLoad", 5, ""),
	scriptCase{"bad variable", "Sums", []string{"1"}, run{iterations: 1, env: []string{"KRUN_BUFFER_FD=x"}},
		expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: KRUN_BUFFER_FD"}},
)

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
					test.run.argv = append(javaArgv(vm, classes, test.source), test.args...)
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
	out, err := exec.CommandContext(t.Context(), "javac", args...).CombinedOutput()
	must.Do(t, err, "javac", out)
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

// TestJavaInstrument runs the programs of benchmarks/causes, whose README has the iterations that
// follow from a seed: with 10 a pulse is in 10, 60 and 110; with 0 a step is at 100.
func TestJavaInstrument(t *testing.T) {
	needBuilt(t)
	needJava(t)
	classes := make(map[string]string)
	for _, cause := range []string{"gc", "hot", "deopt"} {
		classes[cause] = t.TempDir()
		javac(t, classes[cause], "../benchmarks/causes/"+cause+"/java/KrunEntry.java")
	}
	for name, path := range runnertest.Interpreters(t, "java") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm := javaVM(t, path)
			cause := func(t *testing.T, level, cause, seed string, options ...string) ended {
				t.Helper()
				argv := javaArgv(slices.Concat(vm, options), classes[cause], "KrunEntry")
				e := run{argv: append(argv, seed), iterations: 120, instrument: level}.do(t)
				e.check(t, expect{0, 120, libkrun.StateDone, "", ""})
				return e
			}
			t.Run("columns", func(t *testing.T) { checkJavaColumns(t, cause(t, "columns", "gc", "10")) })
			t.Run("columns without counters", func(t *testing.T) {
				argv := javaArgv(append(slices.Clone(vm), "-XX:-UsePerfData"), classes["gc"], "KrunEntry")
				e := run{argv: append(argv, "10"), iterations: 2, instrument: "columns"}.do(t)
				e.check(t, expect{0, 2, libkrun.StateDone, "", ""})
				must.Equal(t, e.columnNames(), "alloc_bytes code_size heap_used", "columns")
			})
			t.Run("gc", func(t *testing.T) {
				checkJavaColumns(t, cause(t, "events", "gc", "10"), "deopt_count")
			})
			// -Xbatch: the VM waits for its compiler, which may otherwise be late on a busy machine
			causeNames{"(System.gc())", "KrunEntry.fresh", "KrunEntry.work", "KrunEntry.work (class_check)",
				"-Xbatch"}.check(t, cause)
			t.Run("no Flight Recorder", func(t *testing.T) {
				argv := javaArgv(append(slices.Clone(vm), "--limit-modules", "jdk.management"), classes["gc"],
					"KrunEntry")
				e := run{argv: append(argv, "10"), iterations: 2, instrument: "events"}.do(t)
				e.check(t, expect{ExitInstrument, 0, libkrun.StateReady, "",
					"this VM cannot report what KRUN_INSTRUMENT asks for (events need JDK Flight Recorder"})
			})
			t.Run("off", func(t *testing.T) { testJavaOff(t, vm, classes["gc"]) })
		})
	}
}

func checkJavaColumns(t *testing.T, e ended, more ...string) {
	t.Helper()
	want := append([]string{"alloc_bytes", "code_size", "gc_count", "gc_time", "heap_used", "jit_count",
		"jit_time"}, more...)
	slices.Sort(want)
	must.Equal(t, e.columnNames(), strings.Join(want, " "), "columns")
	e.checkCollected(t)
	for i, ns := range e.column(t, "gc_time") {
		must.Be(t, ns <= e.series.WallNS[i], "iteration", i, "collections took", ns, "ns of",
			e.series.WallNS[i])
	}
	e.checkRange(t, "heap_used", 100_000, 1<<30)
	e.checkRange(t, "code_size", 100_000, 1<<30)
	var allocated int64
	for _, bytes := range e.column(t, "alloc_bytes")[20:60] {
		allocated += bytes
	}
	if allocated > 1000 { // the VM itself allocates 48 bytes now and then
		t.Errorf("a program that allocates nothing allocated %d bytes", allocated)
	}
}

// checkEndsInside: an event that begins in an iteration ends in it.
func checkEndsInside(t *testing.T, e ended, kind libkrun.EventKind) {
	t.Helper()
	for i, start := range e.series.StartNS[:e.series.Done] {
		end := start + e.series.WallNS[i]
		for _, v := range e.series.Events {
			must.Be(t, v.Kind != kind || v.TimeNS < start || v.TimeNS >= end || v.TimeNS+v.DurationNS <= end,
				"iteration", i, "ended", v.TimeNS+v.DurationNS-end, "ns before", v)
		}
	}
}

// testJavaOff: without KRUN_INSTRUMENT the VM loads nothing for it.
func testJavaOff(t *testing.T, vm []string, classes string) {
	log := filepath.Join(t.TempDir(), "classes")
	argv := javaArgv(append(slices.Clone(vm), "-Xlog:class+load:file="+log), classes, "KrunEntry")
	e := run{argv: append(argv, "60"), iterations: 5}.do(t)
	e.check(t, expect{0, 5, libkrun.StateDone, "", ""})
	must.Equal(t, e.columnNames(), "", "columns")
	loaded := must.Get(os.ReadFile(log))(t)
	must.Need(t, strings.Contains(string(loaded), " KrunRunner "), "the log of classes lacks the runner",
		loaded)
	for _, name := range []string{"KrunInstrument", "KrunEvents", "java.lang.management.", "jdk.jfr.",
		"java.lang.ProcessEnvironment"} {
		must.Be(t, !strings.Contains(string(loaded), " "+name), name, "was loaded")
	}
}

// columnNames returns the names of the user columns, in the order of the alphabet.
func (e ended) columnNames() string {
	var names []string
	for _, c := range e.series.Columns {
		if c.Kind == libkrun.KindUser {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// during returns the iterations in which an event of this kind began whose name contains a text.
func (e ended) during(kind libkrun.EventKind, name string) []int {
	var found []int
	for i, start := range e.series.StartNS[:e.series.Done] {
		if slices.ContainsFunc(e.series.Events, func(v libkrun.Event) bool {
			return v.Kind == kind && strings.Contains(v.Name, name) &&
				v.TimeNS >= start && v.TimeNS < start+e.series.WallNS[i]
		}) {
			found = append(found, i)
		}
	}
	return found
}

// checkCollected: collections are counted in the iterations of the pulses only.
func (e ended) checkCollected(t *testing.T) {
	t.Helper()
	for _, name := range []string{"gc_count", "gc_time"} {
		var in []int
		for i, v := range e.column(t, name) {
			if v != 0 {
				in = append(in, i)
			}
		}
		must.EqualList(t, in, []int{10, 60, 110}, name, "is not 0")
	}
}

func (e ended) checkRange(t *testing.T, column string, least, most int64) {
	t.Helper()
	values := e.column(t, column)
	must.Be(t, slices.Min(values) >= least && slices.Max(values) <= most, column, "is from",
		slices.Min(values), "to", slices.Max(values))
}

// first returns the first number, or -1.
func first(numbers []int) int {
	if len(numbers) == 0 {
		return -1
	}
	return numbers[0]
}
