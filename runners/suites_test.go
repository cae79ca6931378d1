package runners

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

const pyperfScript = `
import pyperf, time
def timed(loops):
    start = pyperf.perf_counter()
    time.sleep(0.002 * loops)
    return pyperf.perf_counter() - start
if __name__ == "__main__":
    runner = pyperf.Runner()
    runner.argparser.add_argument("--fail", action="store_true")
    args = runner.parse_args()
    runner.metadata["description"] = "two benchmarks"
    runner.bench_time_func("first", timed)
    runner.bench_func("second", lambda: 1 / 0 if args.fail else time.sleep(0.001))
`

// octaneBase is what Octane's base.js defines, and jetStream its cli.js and driver, as far as a
// benchmark and a hook meet them: written for this test, with the calls of the published ones.
const (
	octaneBase = `
var performance = performance || {};
performance.now = (function() { return performance.now || Date.now; })();
function Benchmark(name, doWarmup, doDeterministic, n, run, setup, tearDown) {
  this.name = name; this.run = run; this.Setup = setup || (() => {}); this.TearDown = tearDown || (() => {});
}
function BenchmarkSuite(name, reference, benchmarks) {
  this.benchmarks = benchmarks; BenchmarkSuite.suites.push(this);
}
BenchmarkSuite.suites = [];
BenchmarkSuite.ResetRNG = function() {};
`
	octaneFile = `
var x = 0, made = 0;
new BenchmarkSuite('Two', [1], [
  new Benchmark("First", true, false, 9, () => { made++; }),
  new Benchmark("Second", true, false, 9, () => {
    if (made !== 1) throw new Error("First has made " + made);
    for (const end = Date.now() + 3; Date.now() < end;); x++; }, () => { x = 100; },
    () => { if (x !== 100 + runs) throw new Error("x is " + x); })]);
`
	jetStreamCLI = `
const isD8 = typeof Realm !== "undefined";
if (isD8) globalThis.readFile = read;
const flags = new Map();
for (const a of globalThis.arguments) {
  const [name, ...value] = a.split("=");
  flags.set(a.startsWith("--") ? name.slice(2) : "test", a.startsWith("--") ? value.join("=") : a);
}
load("./JetStreamDriver.js");
async function runJetStream() { await JetStream.initialize(); await JetStream.start(); }
runJetStream();
`
	jetStreamDriver = `
this.currentResolve = null; this.currentReject = null;
class Driver {
  async initialize() { await null; this.code = readFile(flags.get("test") + ".js"); }
  async start() {
    const n = Number(flags.get("iteration-count"));
    const promise = new Promise((resolve, reject) => { currentResolve = resolve; currentReject = reject; });
    const realm = Realm.createAllowCrossRealmAccess(), object = Realm.global(realm);
    object.loadString = (s) => Realm.eval(realm, s);
    object.top = { currentResolve, currentReject };
    object.loadString(this.code);
    object.loadString("async function doRun() { " +
      "const __benchmark = new Benchmark(" + n + "); const results = [];" +
      "for (let i = 0; i < " + n + "; i++) {" + flags.get("custom-pre-iteration-code") +
      "let start = performance.now(); await __benchmark.runIteration(); let end = performance.now();" +
      flags.get("custom-post-iteration-code") + "results.push(Math.max(1, end - start)); }" +
      "__benchmark.validate(" + n + "); top.currentResolve(results); }" +
      "doRun().catch((error) => { top.currentReject(error); });");
    await promise;
    Realm.dispose(realm);
  }
}
const JetStream = new Driver();
`
	jetStreamBenchmark = `
class Benchmark {
  runs = 0;
  async runIteration() { await null; this.runs++; for (const end = Date.now() + 3; Date.now() < end;); }
  validate(n) { if (n !== this.runs || n > 4) throw new Error("not valid"); }
}
`
)

// suiteCases are suites of one file, and what their hooks make of them.
var suiteCases = []struct {
	name, language, hook string
	files                map[string]string // the first is the benchmark's
	file                 string
	env                  []string
	parameter            string
	want                 expect
	least                int64 // nanoseconds of suite_time, in each iteration
}{
	{"pyperf", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=first"}, "3", expect{0, 4, libkrun.StateDone, "", ""}, 6e6},
	{"pyperf second", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=second"}, "2", expect{0, 4, libkrun.StateDone, "", ""}, 2e6},
	{"pyperf unknown", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS="}, "1", expect{0, 4, libkrun.StateDone, "",
			"not measured: second, another benchmark of this script"}, 2e6},
	{"pyperf none", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=third"}, "1", expect{ExitBenchmark, 0, libkrun.StateReady, "",
			"has no benchmark third"}, 0},
	{"pyperf fails", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=second\n--fail"}, "1", expect{ExitBenchmark, 0, libkrun.StateReady, "",
			"ZeroDivisionError"}, 0},
	{"pyperf version", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=", "KRUN_SUITE_REQUIRES=>=9.1"}, "1", expect{ExitBenchmark, 0,
			libkrun.StateReady, "", "cannot run here: it needs Python >=9.1"}, 0},
	{"pyperf module", "python", "pyperformance.py", map[string]string{"b.py": "import nowhere"}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS="}, "1", expect{ExitBenchmark, 0, libkrun.StateReady, "",
			"x cannot run here: it needs what is not installed: No module named 'nowhere'"}, 0},
	{"ruby-bench", "ruby", "ruby-bench/harness.rb", map[string]string{
		"harness/loader.rb":         "require 'harness'",
		"harness/harness-common.rb": "def common = 0.003\n",
		"benchmarks/x.rb": "require_relative '../harness/loader'\n" +
			"run_benchmark(9) { sleep common }\n",
	}, "benchmarks/x.rb", nil, "1", expect{0, 4, libkrun.StateDone, "", ""}, 3e6},
	{"awfy Python", "python", "awfy.py", map[string]string{"x.py": "import time\nclass x:\n" +
		"  def inner_benchmark_loop(self, n):\n    time.sleep(n / 1000.0)\n    return True\n"}, "x.py", nil,
		"2",
		expect{0, 4, libkrun.StateDone, "", ""}, 2e6},
	{"awfy Python checks", "python", "awfy.py", map[string]string{"x.py": "class x:\n" +
		"  def inner_benchmark_loop(self, n): return n != 1\n"}, "x.py", nil, "1",
		expect{ExitBenchmark, 0, libkrun.StateReady, "", "Benchmark failed with incorrect result"}, 0},
	{"awfy Ruby", "ruby", "awfy.rb", map[string]string{"x.rb": "class X\n  def inner_benchmark_loop(n)\n" +
		"    sleep(n / 1000.0)\n    true\n  end\nend\n"}, "x.rb", []string{"KRUN_SUITE_BENCHMARK=X"}, "2",
		expect{0, 4, libkrun.StateDone, "", ""}, 2e6},
	{"awfy Lua", "lua", "awfy.lua", map[string]string{"x.lua": "return {\n" +
		"  inner_benchmark_loop = function(_, n)\n" +
		"  for _ = 1, n * 1e6 do end\n  return true end }"}, "x.lua", nil, "3",
		expect{0, 4, libkrun.StateDone, "", ""}, 0},
	{"awfy JavaScript", "javascript", "awfy.js", map[string]string{
		"x.js": "exports.newInstance = () => ({\n  innerBenchmarkLoop(n) {\n" +
			"    const end = Date.now() + n;\n" +
			"    while (Date.now() < end);\n" +
			"    return true;\n  }\n});\n"}, "x.js", nil, "3", expect{0, 4, libkrun.StateDone, "", ""}, 2e6},
	{"awfy JavaScript checks", "javascript", "awfy.js", map[string]string{
		"x.js": "exports.newInstance = () => ({ innerBenchmarkLoop() { return false; } });\n"}, "x.js", nil,
		"3",
		expect{ExitException, 0, libkrun.StateReady, "", "Benchmark failed with incorrect result"}, 0},
	{"octane", "javascript", "octane.js", map[string]string{"base.js": octaneBase,
		"b.js": "var runs = 8;" + octaneFile}, "b.js",
		[]string{"KRUN_SUITE_OPTIONS=Second\nbase.js\nb.js"}, "2",
		expect{0, 4, libkrun.StateDone, "", ""}, 4e6},
	{"octane checks", "javascript", "octane.js", map[string]string{"base.js": octaneBase,
		"b.js": "var runs = 7;" + octaneFile}, "b.js",
		[]string{"KRUN_SUITE_OPTIONS=Second\nbase.js\nb.js"}, "2", expect{ExitException, 4,
			libkrun.StateReady, "", "x is 108"}, 4e6},
	{"octane unknown", "javascript", "octane.js", map[string]string{"base.js": octaneBase, "b.js": ""},
		"b.js", []string{"KRUN_SUITE_OPTIONS=Second\nbase.js\nb.js"}, "2", expect{ExitBenchmark, 0,
			libkrun.StateReady, "", "Second is not in base.js, b.js"}, 0},
	{"jetstream", "javascript", "jetstream.js", map[string]string{"cli.js": jetStreamCLI,
		"JetStreamDriver.js": jetStreamDriver, "x.js": jetStreamBenchmark}, "JetStreamDriver.js", nil, "1",
		expect{0, 4, libkrun.StateDone, "", ""}, 2e6},
	{"jetstream checks", "javascript", "jetstream.js", map[string]string{"cli.js": jetStreamCLI,
		"JetStreamDriver.js": jetStreamDriver,
		"x.js":               strings.Replace(jetStreamBenchmark, "n > 4", "n > 3", 1)}, "JetStreamDriver.js",
		nil, "1", expect{ExitException, 4, libkrun.StateReady, "", "not valid"}, 2e6},
}

// TestSuiteHooks: each value of a suite is an iteration, with the suite's own time as a column, and
// what the suite checks or needs ends the process with the reason.
func TestSuiteHooks(t *testing.T) {
	needBuilt(t)
	vm := map[string]string{}
	for _, language := range []string{"python", "ruby", "lua", "javascript"} {
		program := map[string]string{"python": "python3", "lua": "luajit", "javascript": "node"}
		vm[language], _ = exec.LookPath(cmp.Or(program[language], language))
	}
	for _, c := range suiteCases {
		t.Run(c.name, func(t *testing.T) {
			if vm[c.language] == "" {
				t.Skip("no VM for " + c.language)
			}
			dir := t.TempDir()
			for name, text := range c.files {
				must.Write(t, filepath.Join(dir, name), text)
			}
			l, _ := Lookup(c.language)
			r := run{iterations: 4, argv: []string{vm[c.language], filepath.Join(built, "runners", c.language,
				l.Files[0]), filepath.Join(built, "runners", "suites", c.hook), c.parameter},
				env: append([]string{"KRUN_SUITE=" + dir, "KRUN_SUITE_FILE=" + filepath.Join(dir, c.file),
					"KRUN_SUITE_BENCHMARK=x"}, c.env...)}
			got := r.do(t)
			got.check(t, c.want)
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

// standIns are suites in Java that call their hook in the documented order, beside the classes that
// they publish: DaCapo's Harness and TestHarness, Renaissance's ExecutionDriver, JMH's
// BenchmarkHandler. Each iteration takes 3 ms, and its result is checked after that.
var standIns = []struct{ hook, source, benchmark, options, wrong string }{
	{"KrunAwfy", `public class X { public boolean innerBenchmarkLoop(int n) throws Exception {
  Thread.sleep(3); return System.getenv("WRONG") == null; } }`, "X", "", "incorrect result"},
	{"KrunDacapo", `import org.dacapo.harness.*;
public class Harness { public static void main(String[] a) throws Exception {
  Callback c = (Callback) Class.forName(a[3]).getConstructor(CommandLineArgs.class)
    .newInstance(new CommandLineArgs());
  boolean valid = true;
  do {
    c.start(a[4]);
    long start = System.currentTimeMillis();
    Thread.sleep(4);
    c.stop(System.currentTimeMillis() - start);
    valid = System.getenv("WRONG") == null;
  } while (c.runAgain());
  if (!valid) { System.err.println("Validation FAILED for " + a[4]); System.exit(-2); }
  System.exit(0);
} }`, "lusearch", "", "Validation FAILED for lusearch"},
	{"KrunRenaissance", `package org.renaissance.core; import org.renaissance.Plugin;
public class Launcher { public static void main(String[] a) throws Exception {
  Object p = Class.forName(a[3].split("!", 2)[1]).newInstance();
  for (int i = 0; ((Plugin.ExecutionPolicy) p).canExecute(a[4], i); i++) {
    boolean last = ((Plugin.ExecutionPolicy) p).isLast(a[4], i);
    ((Plugin.AfterOperationSetUpListener) p).afterOperationSetUp(a[4], i, last);
    long start = System.nanoTime();
    Thread.sleep(3);
    ((Plugin.BeforeOperationTearDownListener) p).beforeOperationTearDown(a[4], i, System.nanoTime() - start);
    if (System.getenv("WRONG") != null) { System.err.println("failed result validation"); System.exit(1); }
  }
} }`, "scrabble", "", "failed result validation"},
	{"KrunJmh", `package org.openjdk.jmh; import org.openjdk.jmh.infra.*; import org.openjdk.jmh.profile.*;
import org.openjdk.jmh.results.*; import java.util.Arrays;
public class Main {
  static class Score extends Result<Score> { double score; public double getScore() { return score; } }
  public static void main(String[] args) throws Exception {
    java.util.List<String> a = Arrays.asList(args);
    InternalProfiler p = (InternalProfiler) Class.forName(a.get(a.indexOf("-prof") + 1)).newInstance();
    if (!a.get(a.size() - 1).equals("^\\Qpkg.Sort.big\\E$")) throw new Error(a.toString());
    boolean asked = a.contains("-p"); // otherwise each value of a parameter
    if (asked && !a.get(a.indexOf("-p") + 1).equals("size=2")) throw new Error(a.toString());
    for (int size = asked ? 2 : 1; size < 3; size++)
      for (int i = 0; i < Integer.parseInt(a.get(a.indexOf("-i") + 1)); i++) {
        if (i == 0) System.err.println("size " + size);
        String id = "pkg.Sort.big-size-" + size; Score score = new Score();
        BenchmarkParams params = new BenchmarkParams() { public String id() { return id; } };
        p.beforeIteration(params, new IterationParams());
        long start = System.nanoTime(); Thread.sleep(3); score.score = System.nanoTime() - start;
        p.afterIteration(params, new IterationParams(), new IterationResult() {
          public Result<?> getPrimaryResult() { return score; } });
        if (System.getenv("WRONG") != null) { System.err.println("<failure>"); System.exit(1); }
      }
  }
}`, "Sort.big.size-2", "pkg.Sort.big\nsize=2", "size 2\n<failure>"},
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
		dir := t.TempDir()
		_, class, _ := strings.Cut(c.source, "public class ")
		file := strings.Fields(class)[0] + ".java"
		must.Do(t, os.WriteFile(filepath.Join(dir, file), []byte(c.source), 0o644))
		for _, argv := range [][]string{{"javac", "--release", "8", "-Xlint:-options", "-sourcepath",
			published,
			"-d", "classes", file}, {jar, "cf", "x.jar", "-C", "classes", "."}} {
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			must.Need(t, err == nil, string(out))
		}
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

// sightglassEngine is an engine in the form of sightglass's interface: it compiles for 1 ms,
// instantiates for 2 and executes for 3.
const sightglassEngine = `
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct config { const char *dir; size_t dirlen; const char *out; size_t outlen; const char *err;
  size_t errlen;
  const char *in; size_t inlen; struct { void *timer; void (*start)(void *), (*end)(void *); } phase[3];
  const char *flags; size_t flagslen; };
static int timed(struct config *c, int i) {
  c->phase[i].start(c->phase[i].timer); usleep(1000 * (i + 1));
  c->phase[i].end(c->phase[i].timer); return 0; }
int wasm_bench_create(struct config c, void **out) {
  struct config *copy = malloc(sizeof c); *copy = c; *out = copy; return c.dirlen != strlen(c.dir) || c.in; }
int wasm_bench_compile(void *e, const void *wasm, size_t n) {
  return memcmp(wasm, "wasm", 4) || n != 5 || timed(e, 0); }
int wasm_bench_instantiate(void *e) { return timed(e, 1); }
int wasm_bench_execute(void *e) { return getenv("WRONG") ? 1 : timed(e, 2); }
void wasm_bench_free(void *e) { free(e); }
`

// TestSightglassHook: the phase of the key is measured, and an engine that fails ends the process.
func TestSightglassHook(t *testing.T) {
	needBuilt(t)
	cc, dir := runnertest.Compiler(t), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "e.c"), []byte(sightglassEngine), 0o644))
	must.Do(t, os.WriteFile(filepath.Join(dir, "x.wasm"), []byte("wasm\n"), 0o644))
	out, err := exec.CommandContext(t.Context(), cc, "-O1", "-fPIC", "-shared", filepath.Join(dir, "e.c"),
		"-o",
		filepath.Join(dir, "libengine.so")).CombinedOutput()
	must.Need(t, err == nil, string(out))
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
	must.Do(t, os.WriteFile(filepath.Join(dir, "run.h"), []byte(text), 0o644))
	out, err := exec.CommandContext(t.Context(), cxx, "-std=c++17", "-fPIC", "-shared", "-I"+dir, "-I../cgo",
		filepath.Join(built, "runners", "suites", "awfy.cpp"), filepath.Join(built, "lib", "libkrun.so"),
		"-Wl,-rpath,"+filepath.Join(built, "lib"), "-o", filepath.Join(dir, "krun.so")).CombinedOutput()
	must.Need(t, err == nil, string(out))
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
