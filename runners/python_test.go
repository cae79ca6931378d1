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
var pythonCases = append(common(goodPython, 20, "100", "ten", "--5"),
	prints("is a module", mainPython, "-7", 2, "bench -7 True\nbench -7 True\n"),
	checks(checksumPython),
	raises(raisingPython, "raised an exception in run_iter: ValueError: third"),
	fails("no entry", "x = 1\n", ExitNoEntry, "has no function run_iter"),
	fails("entry is no function", "run_iter = 1\n", ExitNoEntry, "has no function run_iter"),
	fails("no file", "", ExitBenchmark, "cannot read the benchmark"),
	fails("syntax", "def run_iter(n:\n", ExitBenchmark, "SyntaxError"),
	fails("exception at load", "1 / 0\n", ExitBenchmark, "ZeroDivisionError"),
	fails("exit at load", "import sys\nsys.exit(5)\n", 5, ""),
)

func TestPython(t *testing.T) {
	needBuilt(t)
	for name, path := range runnertest.Pythons(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm := []string{path, filepath.Join(built, "runners", "python", "runner.py")}
			testScripts(t, vm, "bench.py", pythonCases)
			t.Run("libraries", func(t *testing.T) {
				testScriptLibraries(t, vm, write(t, "bench.py", goodPython))
			})
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
