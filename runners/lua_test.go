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
var luaCases = []scriptCase{
	{"measures", goodLua, []string{"100"}, run{iterations: 2000}, expect{0, 2000, libkrun.StateDone, "", ""}},
	{"stopped", goodLua, []string{"100"}, run{iterations: 20, stopped: true}, expect{0, 0, libkrun.StateDone,
		"", ""}},
	{"gets the parameter", "function run_iter(...) print(select('#', ...), ...) end", []string{"-7"},
		run{iterations: 2}, expect{0, 2, libkrun.StateDone, "1\t-7\n1\t-7\n", ""}},
	{"largest parameter", "function run_iter(n) print(n == 2 ^ 53) end", []string{"9007199254740992"},
		run{iterations: 1}, expect{0, 1, libkrun.StateDone, "true\n", ""}},
	{"undeclared variables forbidden", strictLua, []string{"-0"}, run{iterations: 2},
		expect{0, 2, libkrun.StateDone, "0\n0\n", ""}},
	{"wrong checksum", checksumLua, []string{"1"}, run{iterations: 10}, expect{1, 3, libkrun.StateReady,
		"bad checksum\n", ""}},
	{"exception", raisingLua, []string{"1"}, run{iterations: 10}, expect{ExitException, 2, libkrun.StateReady,
		"", "raised an exception in run_iter: "}},
	{"everything replaced", greedyLua, []string{"1"}, run{iterations: 10}, expect{ExitException, 0,
		libkrun.StateReady, "", ": replaced all\n"}},
	{"exception is a table", "function run_iter() error(setmetatable({}, {__tostring = error})) end",
		[]string{"1"}, run{iterations: 1}, expect{ExitException, 0, libkrun.StateReady, "",
			"in run_iter: table\n"}},
	{"exception is nothing", "function run_iter() error() end", []string{"1"}, run{iterations: 1},
		expect{ExitException, 0, libkrun.StateReady, "", "in run_iter: nil\n"}},
	{"stack overflow", "function run_iter(n) return 1 + run_iter(n) end", []string{"1"}, run{iterations: 1},
		expect{ExitException, 0, libkrun.StateReady, "", "stack overflow\n"}},
	{"no entry", "x = 1\n", []string{"1"}, run{iterations: 1}, expect{ExitNoEntry, 0, libkrun.StateReady, "",
		"bench.lua has no function run_iter\n"}},
	{"no entry and strict", "setmetatable(_G, { __index = error })", []string{"1"}, run{iterations: 1},
		expect{ExitNoEntry, 0, libkrun.StateReady, "", "bench.lua has no function run_iter\n"}},
	{"entry is no function", "run_iter = 1\n", []string{"1"}, run{iterations: 1}, expect{ExitNoEntry, 0,
		libkrun.StateReady, "", "has no function run_iter"}},
	{"no file", "", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0, libkrun.StateReady, "",
		"cannot load the benchmark: cannot open /nowhere/bench.lua"}},
	{"syntax", "function run_iter(n\n", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "cannot load the benchmark: "}},
	{"exception at load", "local x = nil + 1\n", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "raised an exception while it was loaded: "}},
	{"exit at load", "os.exit(5)\n", []string{"1"}, run{iterations: 1}, expect{5, 0, libkrun.StateReady, "",
		""}},
	{"no parameter", goodLua, nil, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	{"two parameters", goodLua, []string{"1", "2"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew,
		"", "usage: "}},
	{"text as parameter", goodLua, []string{"1e3"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew,
		"", "usage: "}},
	{"two signs", goodLua, []string{"--1"}, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "",
		"usage: "}},
	{"large parameter", goodLua, []string{"9007199254740994"}, run{iterations: 1},
		expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	{"no buffer", goodLua, []string{"1"}, run{iterations: 1, noBuffer: true},
		expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: the descriptor"}},
	{"no library", goodLua, []string{"1"},
		run{iterations: 1, env: []string{"KRUN_LIBRARY=/nowhere/libkrun.so"}}, expect{ExitLibrary, 0,
			libkrun.StateNew, "", "set KRUN_LIBRARY"}},
}

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
				t.Run("refused", func(t *testing.T) {
					testScriptRefused(t, vm, write(t, "bench.lua", goodLua))
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
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
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
