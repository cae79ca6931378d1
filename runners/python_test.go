package runners

import (
	"os"
	"path/filepath"
	"slices"
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

const (
	goodLua = `
function run_iter(n)
  local sum = 0
  for i = 1, n do sum = sum + i end
  return sum
end
`
	// The interface of benchmarks that were written for Krun: global functions and variables, files
	// in the same directory, output.
	krunLua = `
require("helper")
local other = require "folder"
dofile(package.path:match("^(.-)%?") .. "third.lua")
EXPECT = 4950
calls = 0
function run_iter(n)
  calls = calls + 1
  local total = add_up(n)
  print(other, third(), n, calls)
  if total ~= EXPECT then
    print("bad checksum: " .. total .. " vs " .. EXPECT)
    os.exit(1)
  end
end
`
	// A benchmark that uses and replaces everything that is global.
	greedyLua = `
for _, name in ipairs { "pcall", "tostring", "type", "arg", "os", "io", "debug", "require", "rawget" } do
  _G[name] = nil
end
function run_iter(n)
  error("replaced\n\tall")
end
`
	strictLua = `
local known = {}
setmetatable(_G, { __index = function(_, name) error("variable " .. name .. " is not declared") end })
local before = {}
for name in pairs(_G) do before[name] = true end
for _, name in ipairs { "main", "fail", "measure", "krun", "handle", "path", "parameter" } do
  assert(not before[name], name)
end
function run_iter(n) io.write(n, "\n") end
`
	checksumLua = `
local calls = 0
function run_iter(n)
  calls = calls + 1
  if calls == 4 then
    print("bad checksum")
    os.exit(1)
  end
end
`
	raisingLua = `
local calls = 0
function run_iter(n)
  calls = calls + 1
  if calls == 3 then error("third") end
end
`
	// The traces that the JIT compiler created and aborted, by their start.
	tracesLua = `
local util = require("jit.util")
local started, calls, stops, aborts, shared = nil, 0, 0, {}, false
jit.attach(function(what, trace, func)
  if what == "start" then
    started = util.funcinfo(func).source
  elseif what == "stop" then
    stops = stops + 1
  elseif what == "abort" then
    aborts[#aborts + 1] = started
  end
end, "trace")
function run_iter(n)
  local sum = 0
  for i = 1, n do sum = sum + i end
  calls = calls + 1
  if calls == 1000 then print(stops > 0, #aborts, table.concat(aborts, " ")) end
  return sum
end
`
)

// luaCases run on every VM, with and without its JIT compiler.
var luaCases = append(common(goodLua, 2000, "100", "1e3", "--1", "9007199254740994"),
	prints("gets the parameter", "function run_iter(...) print(select('#', ...), ...) end", "-7", 2,
		"1\t-7\n1\t-7\n"),
	prints("largest parameter", "function run_iter(n) print(n == 2 ^ 53) end", "9007199254740992", 1,
		"true\n"),
	prints("undeclared variables forbidden", strictLua, "-0", 2, "0\n0\n"),
	checks(checksumLua),
	raises(raisingLua, "raised an exception in run_iter: "),
	fails("everything replaced", greedyLua, ExitException, ": replaced all\n"),
	fails("exception is a table", "function run_iter() error(setmetatable({}, {__tostring = error})) end",
		ExitException, "in run_iter: table\n"),
	fails("exception is nothing", "function run_iter() error() end", ExitException, "in run_iter: nil\n"),
	fails("stack overflow", "function run_iter(n) return 1 + run_iter(n) end", ExitException,
		"stack overflow\n"),
	fails("no entry", "x = 1\n", ExitNoEntry, "bench.lua has no function run_iter\n"),
	fails("no entry and strict", "setmetatable(_G, { __index = error })", ExitNoEntry,
		"bench.lua has no function run_iter\n"),
	fails("entry is no function", "run_iter = 1\n", ExitNoEntry, "has no function run_iter"),
	fails("no file", "", ExitBenchmark, "cannot load the benchmark: cannot open /nowhere/bench.lua"),
	fails("syntax", "function run_iter(n\n", ExitBenchmark, "cannot load the benchmark: "),
	fails("exception at load", "local x = nil + 1\n", ExitBenchmark,
		"raised an exception while it was loaded: "),
	fails("exit at load", "os.exit(5)\n", 5, ""),
)

func luaRunner() string { return filepath.Join(built, "runners", "lua", "runner.lua") }

func TestLua(t *testing.T) {
	needBuilt(t)
	for name, path := range runnertest.Interpreters(t, "lua") {
		for _, options := range [][]string{nil, {"-joff"}} {
			vm := slices.Concat([]string{path}, options, []string{luaRunner()})
			t.Run(strings.Join(append([]string{name}, options...), " "), func(t *testing.T) {
				t.Parallel()
				testScripts(t, vm, "bench.lua", luaCases)
				t.Run("libraries", func(t *testing.T) {
					testScriptLibraries(t, vm, write(t, "bench.lua", goodLua))
				})
				t.Run("default library", func(t *testing.T) {
					testScriptDefault(t, vm, write(t, "bench.lua", goodLua))
				})
				t.Run("for Krun", func(t *testing.T) { testLuaForKrun(t, vm) })
			})
		}
		t.Run(name+" traces", func(t *testing.T) { testLuaTraces(t, path) })
	}
}

// testLuaForKrun: a benchmark in the style of Krun, with files in its directory, one of them with
// the same name as a file in the runner's directory.
func testLuaForKrun(t *testing.T, vm []string) {
	file := write(t, "bench.lua", krunLua)
	for name, text := range map[string]string{
		"helper.lua": "function add_up(n) local total = 0 for i = 0, n - 1 do total = total + i end " +
			"return total end\n",
		"third.lua":       "function third() return require('runner') end\n",
		"runner.lua":      "return 'beside'\n",
		"folder/init.lua": "return 'of the folder'\n",
	} {
		path := filepath.Join(filepath.Dir(file), name)
		must.Write(t, path, text)
	}
	r := run{argv: slices.Concat(vm, []string{file, "100"}), iterations: 2}
	r.do(t).check(t, expect{0, 2, libkrun.StateDone,
		"of the folder\tbeside\t100\t1\nof the folder\tbeside\t100\t2\n", ""})
	r.argv[len(r.argv)-1] = "99"
	r.do(t).check(t, expect{1, 0, libkrun.StateReady,
		"of the folder\tbeside\t99\t1\nbad checksum: 4851 vs 4950\n", ""})
	r.argv[len(r.argv)-2], r.argv[len(r.argv)-1], r.dir = "bench.lua", "100", filepath.Dir(file)
	r.do(t).check(t, expect{0, 2, libkrun.StateDone,
		"of the folder\tbeside\t100\t1\nof the folder\tbeside\t100\t2\n", ""})
}

// testLuaTraces: the compiler compiles the loop of run_iter and what follows it, through the runner
// into the next iteration, and never aborts.
func testLuaTraces(t *testing.T, vm string) {
	r := run{argv: []string{vm, luaRunner(), write(t, "bench.lua", tracesLua), "100"}, iterations: 1000}
	r.do(t).check(t, expect{0, 1000, libkrun.StateDone, "true\t0\t\n", ""})
}
