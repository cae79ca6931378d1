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

// suiteCases are suites of testdata/scripts/suites.txtar, and what their hooks make of them.
var suiteCases = []struct {
	name, suite, file, hook, parameter string
	env                                []string
	status, done                       int
	message                            string
	least                              int64    // nanoseconds of suite_time, in each iteration
	change                             []string // a text of the suite and what replaces it
}{
	{"pyperf", "pyperf", "b.py", "pyperformance.py", "3", options("first"), 0, 4, "", 6e6, nil},
	{"pyperf second", "pyperf", "b.py", "pyperformance.py", "2", options("second"), 0, 4, "", 2e6, nil},
	{"pyperf unknown", "pyperf", "b.py", "pyperformance.py", "1", options(""), 0, 4,
		"not measured: second, another benchmark of this script", 2e6, nil},
	{"pyperf none", "pyperf", "b.py", "pyperformance.py", "1", options("third"), ExitBenchmark, 0,
		"has no benchmark third", 0, nil},
	{"pyperf fails", "pyperf", "b.py", "pyperformance.py", "1", options("second", "--fail"), ExitBenchmark, 0,
		"ZeroDivisionError", 0, nil},
	{"pyperf version", "pyperf", "b.py", "pyperformance.py", "1",
		append(options(""), "KRUN_SUITE_REQUIRES=>=9.1"), ExitBenchmark, 0,
		"cannot run here: it needs Python >=9.1", 0, nil},
	{"pyperf module", "module", "b.py", "pyperformance.py", "1", options(""), ExitBenchmark, 0,
		"x cannot run here: it needs what is not installed: No module named 'nowhere'", 0, nil},
	{"ruby-bench", "ruby-bench", "benchmarks/x.rb", "ruby-bench/harness.rb", "1", nil, 0, 4, "", 3e6, nil},
	{"awfy Python", "awfy", "x.py", "awfy.py", "2", nil, 0, 4, "", 2e6, nil},
	{"awfy Python checks", "awfy", "x.py", "awfy.py", "1", nil, ExitBenchmark, 0,
		"Benchmark failed with incorrect result", 0, nil},
	{"awfy Ruby", "awfy", "x.rb", "awfy.rb", "2", []string{"KRUN_SUITE_BENCHMARK=X"}, 0, 4, "", 2e6, nil},
	{"awfy Lua", "awfy", "x.lua", "awfy.lua", "3", nil, 0, 4, "", 0, nil},
	{"awfy JavaScript", "awfy", "x.js", "awfy.js", "3", nil, 0, 4, "", 2e6, nil},
	{"awfy JavaScript checks", "awfy", "x.js", "awfy.js", "1", nil, ExitException, 0,
		"Benchmark failed with incorrect result", 0, nil},
	{"octane", "octane", "b.js", "octane.js", "2", options("Second", "base.js", "b.js"), 0, 4, "", 4e6, nil},
	{"octane checks", "octane", "b.js", "octane.js", "2", options("Second", "base.js", "b.js"), ExitException,
		4, "x is 108", 4e6, []string{"runs = 8", "runs = 7"}},
	{"octane unknown", "octane", "none.js", "octane.js", "2", options("Second", "base.js", "none.js"),
		ExitBenchmark, 0, "Second is not in base.js, none.js", 0, nil},
	{"jetstream", "jetstream", "JetStreamDriver.js", "jetstream.js", "1", nil, 0, 4, "", 2e6, nil},
	{"jetstream checks", "jetstream", "JetStreamDriver.js", "jetstream.js", "1", nil, ExitException, 4,
		"not valid", 2e6, []string{"n > 4", "n > 3"}},
}

// options are those of a suite's benchmark, as krund gives them.
func options(list ...string) []string {
	return []string{"KRUN_SUITE_OPTIONS=" + strings.Join(list, "\n")}
}

// suiteFiles writes the files of a suite into a new directory, with texts replaced.
func suiteFiles(t *testing.T, suite string, change ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range sources("suites") {
		if name, in := strings.CutPrefix(f.Name, suite+"/"); in {
			must.Write(t, filepath.Join(dir, name), strings.NewReplacer(change...).Replace(string(f.Data)))
		}
	}
	return dir
}

// tool runs a program in a directory.
func tool(t *testing.T, dir string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	must.Need(t, err == nil, string(out))
}

// TestSuiteHooks: each value of a suite is an iteration, with the suite's own time as a column, and
// what the suite checks or needs ends the process with the reason.
func TestSuiteHooks(t *testing.T) {
	needBuilt(t)
	languages := map[string]struct{ name, program string }{".py": {"python", "python3"},
		".rb": {"ruby", "ruby"}, ".lua": {"lua", "luajit"}, ".js": {"javascript", "node"}}
	for _, c := range suiteCases {
		t.Run(c.name, func(t *testing.T) {
			language := languages[filepath.Ext(c.file)]
			vm, err := exec.LookPath(language.program)
			if err != nil {
				t.Skip(err)
			}
			dir, runners := suiteFiles(t, c.suite, c.change...), filepath.Join(built, "runners")
			l, _ := Lookup(language.name)
			r := run{iterations: 4, argv: []string{vm, filepath.Join(runners, l.Name, l.Files[0]),
				filepath.Join(runners, "suites", c.hook), c.parameter},
				env: append([]string{"KRUN_SUITE=" + dir, "KRUN_SUITE_FILE=" + filepath.Join(dir, c.file),
					"KRUN_SUITE_BENCHMARK=x"}, c.env...)}
			want := expect{c.status, c.done, libkrun.StateDone, "", c.message}
			if c.status != 0 {
				want.state = libkrun.StateReady
			}
			got := r.do(t)
			got.check(t, want)
			checkSuiteTime(t, got.series, c.least)
		})
	}
}

// checkSuiteTime: the suite's own times lie within krund's, or just outside where the suite's clock
// is not the wall.
func checkSuiteTime(t *testing.T, s libkrun.Series, least int64) {
	t.Helper()
	for _, column := range s.Columns {
		if column.Name != "suite_time" {
			continue
		}
		for i, value := range column.Values {
			must.Be(t, value >= least && value <= s.WallNS[i]+2e6, i, value, s.WallNS[i], least)
		}
		return
	}
	must.Be(t, s.Done == 0, "no column suite_time in", s.Done)
}

// standIns are suites in Java, their class and how they say that a result is wrong.
var standIns = []struct{ hook, class, benchmark, options, wrong string }{
	{"KrunAwfy", "X", "X", "", "incorrect result"},
	{"KrunDacapo", "Harness", "lusearch", "", "Validation FAILED for lusearch"},
	{"KrunRenaissance", "Launcher", "scrabble", "", "failed result validation"},
	{"KrunJmh", "Main", "Sort.big.size-2", "pkg.Sort.big\nsize=2", "size 2\n<failure>"},
}

// TestJavaSuiteHooks: the suites in Java are in a jar, whose own programs call the hooks back.
func TestJavaSuiteHooks(t *testing.T) {
	needBuilt(t)
	jar, err := exec.LookPath("jar")
	if err != nil || !fileExists(filepath.Join(built, "runners", "suites", "KrunAwfy.class")) {
		t.Skip("no jar, or no compiler of Java")
	}
	published, here := must.Get(filepath.Abs("suites/published"))(t), filepath.Join(built, "runners")
	for _, c := range standIns {
		dir := suiteFiles(t, c.hook)
		tool(t, dir, "javac", "--release", "8", "-Xlint:-options", "-sourcepath", published, "-d", "classes",
			c.class+".java")
		tool(t, dir, jar, "cf", "x.jar", "-C", "classes", ".")
		for name, java := range runnertest.Interpreters(t, "java") {
			t.Run(c.hook+" "+name, func(t *testing.T) {
				r := run{iterations: 3, argv: []string{java, "-cp", here + "/java:" + here + "/suites:" +
					filepath.Join(dir, "x.jar"), "KrunRunner", c.hook, "1"}, env: []string{
					"KRUN_SUITE_BENCHMARK=" + c.benchmark, "KRUN_SUITE_OPTIONS=" + c.options}}
				got := r.do(t)
				must.Be(t, got.status == 0 && got.series.Done == 3, got)
				must.Be(t, got.series.State == libkrun.StateDone, got)
				checkSuiteTime(t, got.series, 3e6)
				r.env = append(r.env, "WRONG=1")
				got = r.do(t)
				must.Be(t, got.status != 0 && strings.Contains(got.stderr, c.wrong), got)
			})
		}
	}
}

// TestSightglassHook: the phase of the key is measured, and an engine that fails ends the process.
func TestSightglassHook(t *testing.T) {
	needBuilt(t)
	dir := suiteFiles(t, "sightglass")
	tool(t, dir, runnertest.Compiler(t), "-O1", "-fPIC", "-shared", "e.c", "-o", "libengine.so")
	for i, phase := range []string{"compile", "instantiate", "execute", "wrong"} {
		t.Run(phase, func(t *testing.T) {
			r := run{iterations: 4, argv: []string{filepath.Join(built, "runners", "c", "runner"),
				filepath.Join(built, "runners", "suites", "sightglass.so"), "1"},
				env: []string{"KRUN_SUITE=" + dir, "KRUN_SUITE_FILE=" + filepath.Join(dir, "x.wasm"),
					"KRUN_SUITE_OPTIONS=libengine.so\n" + phase}}
			want := expect{0, 4, libkrun.StateDone, "", ""}
			if i == 3 {
				r.env, want = append(r.env, "WRONG=1"), expect{ExitException, 0, libkrun.StateReady, "",
					"the engine failed to compile, instantiate or execute"}
			}
			got := r.do(t)
			got.check(t, want)
			checkSuiteTime(t, got.series, int64(i+1)*1e6)
		})
	}
}

// TestCompiledHook: are-we-fast-yet in C++ is compiled with its hook.
func TestCompiledHook(t *testing.T) {
	needBuilt(t)
	cxx, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no compiler of C++")
	}
	dir := t.TempDir()
	text := "#include <unistd.h>\nstruct Benchmark { virtual ~Benchmark() {}\n" +
		"  virtual bool inner_benchmark_loop(int n) { usleep(1000 * n); return n < 5; } };\n"
	for _, class := range strings.Fields("Bounce CD DeltaBlue Havlak Json List Mandelbrot NBody Permute " +
		"Queens Richards Sieve Storage Towers") {
		text += "struct " + class + " : Benchmark {};\n"
	}
	must.Write(t, filepath.Join(dir, "run.h"), text)
	tool(t, "", cxx, "-std=c++17", "-fPIC", "-shared", "-I"+dir, "-I../cgo",
		filepath.Join(built, "runners", "suites", "awfy.cpp"), filepath.Join(built, "lib", "libkrun.so"),
		"-Wl,-rpath,"+filepath.Join(built, "lib"), "-o", filepath.Join(dir, "krun.so"))
	r := run{iterations: 4, argv: []string{filepath.Join(built, "runners", "c", "runner"),
		filepath.Join(dir, "krun.so"), "3"},
		env: []string{"KRUN_SUITE=" + dir, "KRUN_SUITE_BENCHMARK=Json"}}
	got := r.do(t)
	got.check(t, expect{0, 4, libkrun.StateDone, "", ""})
	checkSuiteTime(t, got.series, 3e6)
	r.argv[2] = "5"
	r.do(t).check(t, expect{ExitException, 1, libkrun.StateReady, "", "incorrect result"})
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
