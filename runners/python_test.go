package runners

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

const (
	goodPython = `
def run_iter(n):
    return sum(range(n))
`
	// The interface of benchmarks that were written for Krun, in the Python of that time.
	oldPython = `
import sys, bisect, array
EXPECT = 4950L
def run_iter(n):
    total = 0L
    for i in xrange(n):
        total += i
    if total != EXPECT:
        print "bad checksum: %d vs %d" % (total, EXPECT)
        sys.exit(1)
`
	mainPython = `
import sys
if __name__ == "__main__":
    raise Exception("not a script")
def run_iter(n):
    sys.stdout.write("%s %r %r\n" % (__name__, n, sys.modules[__name__].run_iter is run_iter))
`
	checksumPython = `
import sys
calls = 0
def run_iter(n):
    global calls
    calls += 1
    if calls == 4:
        print("bad checksum")
        sys.exit(1)
`
	raisingPython = `
calls = []
def run_iter(n):
    calls.append(n)
    if len(calls) == 3:
        raise ValueError("third")
`
)

// pythonCases run on every interpreter.
var pythonCases = []struct {
	name   string
	source string // "" for a file that is not there
	args   []string
	run    run
	want   expect
}{
	{"measures", goodPython, []string{"100"}, run{iterations: 20}, expect{0, 20, libkrun.StateDone, "", ""}},
	{"stopped", goodPython, []string{"100"}, run{iterations: 20, stopped: true},
		expect{0, 0, libkrun.StateDone, "", ""}},
	{"is a module", mainPython, []string{"-7"}, run{iterations: 2}, expect{0, 2, libkrun.StateDone,
		"bench -7 True\nbench -7 True\n", ""}},
	{"wrong checksum", checksumPython, []string{"1"}, run{iterations: 10}, expect{1, 3, libkrun.StateReady,
		"bad checksum\n", ""}},
	{"exception", raisingPython, []string{"1"}, run{iterations: 10}, expect{ExitException, 2,
		libkrun.StateReady, "", "raised an exception in run_iter: ValueError: third"}},
	{"no entry", "x = 1\n", []string{"1"}, run{iterations: 1}, expect{ExitNoEntry, 0, libkrun.StateReady, "",
		"has no function run_iter"}},
	{"entry is no function", "run_iter = 1\n", []string{"1"}, run{iterations: 1}, expect{ExitNoEntry, 0,
		libkrun.StateReady, "", "has no function run_iter"}},
	{"no file", "", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0, libkrun.StateReady, "",
		"cannot read the benchmark"}},
	{"syntax", "def run_iter(n:\n", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "SyntaxError"}},
	{"exception at load", "1 / 0\n", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "ZeroDivisionError"}},
	{"exit at load", "import sys\nsys.exit(5)\n", []string{"1"}, run{iterations: 1},
		expect{5, 0, libkrun.StateReady, "", ""}},
	{"no parameter", goodPython, nil, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "",
		"usage: "}},
	{"text as parameter", goodPython, []string{"ten"}, run{iterations: 1},
		expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	{"two signs", goodPython, []string{"--5"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "",
		"usage: "}},
	{"no buffer", goodPython, []string{"1"}, run{iterations: 1, noBuffer: true},
		expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: the descriptor"}},
	{"no library", goodPython, []string{"1"},
		run{iterations: 1, env: []string{"KRUN_LIBRARY=/nowhere/libkrun.so"}}, expect{ExitLibrary, 0,
			libkrun.StateNew, "", "set KRUN_LIBRARY"}},
}

func TestPython(t *testing.T) {
	needBuilt(t)
	for name, path := range runnertest.Pythons(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, test := range pythonCases {
				t.Run(test.name, func(t *testing.T) {
					file := "/nowhere/bench.py"
					if test.source != "" {
						file = write(t, "bench.py", test.source)
					}
					test.run.argv = append(pythonArgv(path, file), test.args...)
					test.run.do(t).check(t, test.want)
				})
			}
			t.Run("wrong library", func(t *testing.T) { testPythonLibrary(t, path) })
			t.Run("beside", func(t *testing.T) { testPythonBeside(t, path) })
			if strings.Contains(name, " 2.") {
				t.Run("of Python 2", func(t *testing.T) { testPython2(t, path) })
			}
		})
	}
}

func pythonArgv(interpreter, file string) []string {
	return []string{interpreter, filepath.Join(built, "runners", "python", "runner.py"), file}
}

// testPythonBeside: a benchmark imports files from its directory, even if the runner's directory
// has a file of that name, and no file is created in its directory.
func testPythonBeside(t *testing.T, interpreter string) {
	file := write(t, "bench.py", "import runner\ndef run_iter(n):\n    print(runner.VALUE)\n")
	beside := filepath.Join(filepath.Dir(file), "runner.py")
	must.Do(t, os.WriteFile(beside, []byte("VALUE = 'beside'\n"), 0o644))
	r := run{argv: append(pythonArgv(interpreter, file), "1"), iterations: 1}
	r.do(t).check(t, expect{0, 1, libkrun.StateDone, "beside\n", ""})
	left := must.Get(os.ReadDir(filepath.Dir(file)))(t)
	must.Equal(t, len(left), 2, "the benchmark's directory")
}

// testPythonLibrary runs the runner with unusable libraries.
func testPythonLibrary(t *testing.T, interpreter string) {
	file := write(t, "bench.py", goodPython)
	functions := "void *krun_init, *krun_should_stop, *krun_begin, *krun_end, *krun_done, *krun_strerror;"
	for source, complaint := range map[string]string{
		"int other(void) { return 1; }":                        "cannot load libkrun",
		functions + " int krun_version(void) { return 1000; }": "interface version 1000, this runner needs 1",
	} {
		r := run{argv: append(pythonArgv(interpreter, file), "1"), iterations: 1,
			env: []string{"KRUN_LIBRARY=" + compile(t, source)}}
		r.do(t).check(t, expect{ExitLibrary, 0, libkrun.StateNew, "", complaint})
	}
}

// testPython2 runs benchmarks that only Python 2 understands.
func testPython2(t *testing.T, interpreter string) {
	r := run{argv: append(pythonArgv(interpreter, write(t, "bench.py", oldPython)), "100"), iterations: 5}
	r.do(t).check(t, expect{0, 5, libkrun.StateDone, "", ""})
	r = run{argv: append(pythonArgv(interpreter, write(t, "bench.py", oldPython)), "99"), iterations: 5}
	r.do(t).check(t, expect{1, 0, libkrun.StateReady, "bad checksum: 4851 vs 4950\n", ""})
	oldClass := "class Odd: pass\ndef run_iter(n):\n    raise Odd()\n"
	r = run{argv: append(pythonArgv(interpreter, write(t, "bench.py", oldClass)), "1"), iterations: 5}
	r.do(t).check(t, expect{ExitException, 0, libkrun.StateReady, "", "raised an exception in run_iter: Odd"})
}
