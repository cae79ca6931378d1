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
		[]string{"KRUN_SUITE_OPTIONS=0"}, "3", expect{0, 4, libkrun.StateDone, "", ""}, 6e6},
	{"pyperf second", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=1"}, "2", expect{0, 4, libkrun.StateDone, "", ""}, 2e6},
	{"pyperf unknown", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS="}, "1", expect{0, 4, libkrun.StateDone, "",
			"not measured: second, benchmark 2 of this script"}, 2e6},
	{"pyperf none", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=9"}, "1", expect{ExitBenchmark, 0, libkrun.StateReady, "",
			"x cannot run here: "}, 0},
	{"pyperf fails", "python", "pyperformance.py", map[string]string{"b.py": pyperfScript}, "b.py",
		[]string{"KRUN_SUITE_OPTIONS=1\n--fail"}, "1", expect{ExitBenchmark, 0, libkrun.StateReady, "",
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
				must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
				must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
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

// TestJavaSuiteHook: the suite's classes are in its jar.
func TestJavaSuiteHook(t *testing.T) {
	needBuilt(t)
	jar, err := exec.LookPath("jar")
	if err != nil || !fileExists(filepath.Join(built, "runners", "suites", "KrunAwfy.class")) {
		t.Skip("no jar, or no compiler of Java")
	}
	for name, java := range runnertest.Interpreters(t, "java") {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			source := "public class X { public boolean innerBenchmarkLoop(int n) throws Exception {\n" +
				"Thread.sleep(n); return n < 5; } }\n"
			must.Do(t, os.WriteFile(filepath.Join(dir, "X.java"), []byte(source), 0o644))
			for _, argv := range [][]string{{"javac", "--release", "8", "-Xlint:-options", "X.java"},
				{jar, "cf", "x.jar", "X.class"}} {
				c := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
				c.Dir = dir
				out, err := c.CombinedOutput()
				must.Need(t, err == nil, string(out))
			}
			here := filepath.Join(built, "runners")
			r := run{iterations: 3, argv: []string{java, "-cp", here + "/java:" + here + "/suites:" +
				filepath.Join(dir, "x.jar"),
				"KrunRunner",
				"KrunAwfy", "3"}, env: []string{"KRUN_SUITE_FILE=" + filepath.Join(dir, "x.jar"),
				"KRUN_SUITE_BENCHMARK=X"}}
			got := r.do(t)
			must.Be(t, got.status == 0 && got.series.Done == 3, got)
			checkSuiteTime(t, got.series, 3e6)
			r.argv[len(r.argv)-1] = "5"
			got = r.do(t)
			must.Be(t, got.status == ExitException && strings.Contains(got.stderr, "incorrect result"), got)
		})
	}
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
