package runners

import (
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

// scripts are the languages whose benchmarks are source files. Each has a benchmark in the style of
// Krun, with files in its directory, one of them with the same name as a file in the runner's
// directory.
var scripts = []struct {
	language, file string
	cases          []scriptCase
	said           string // by the benchmark of Krun for its parameter and call
	// each way to run them, with the command line up to the runner; nil: one way
	ways func(t testing.TB, name, path string) map[string][]string
	more func(t *testing.T, name, path string) // what else is tested of each VM
}{
	{"lua", "bench.lua", luaCases, "of the folder\tbeside\t%[1]s\t%[2]d\n",
		func(_ testing.TB, _, path string) map[string][]string {
			return map[string][]string{"": {path, scriptRunner("lua")},
				" -joff": {path, "-joff", scriptRunner("lua")}}
		}, testLuaTraces},
	{"python", "bench.py", pythonCases, "", nil, testPythonBeside},
	{"ruby", "bench.rb", rubyCases, "other third main %[2]d\n", rubyWays, testRubyExtension},
	{"php", "bench.php", phpCases, "other beside %[1]s %[2]d\n",
		func(t testing.TB, _, path string) map[string][]string {
			ways := map[string][]string{"": {path, scriptRunner("php")}}
			if phpCompiles(t, path) {
				ways[" JIT"] = slices.Concat([]string{path}, phpJIT, []string{scriptRunner("php")})
			}
			return ways
		}, testPHPMessages},
	{"javascript", "bench.js", javaScriptCases, "", nil, testJavaScript},
}

func TestScripts(t *testing.T) {
	needBuilt(t)
	for _, s := range scripts {
		t.Run(s.language, func(t *testing.T) {
			for name, path := range runnertest.Interpreters(t, s.language) {
				ways := map[string][]string{"": {path, scriptRunner(s.language)}}
				if s.ways != nil {
					ways = s.ways(t, name, path)
				}
				for how, vm := range ways {
					t.Run(name+how, func(t *testing.T) {
						t.Parallel()
						testScripts(t, vm, s.file, s.cases)
						if s.language != "javascript" { // its library is an addon
							testScriptLibraries(t, vm, write(t, s.file, source(s.language, "good")))
						}
						if s.language == "lua" || s.language == "php" {
							testScriptDefault(t, vm, write(t, s.file, source(s.language, "good")))
						}
						if s.language != "python" || strings.Contains(name, " 2.") {
							testForKrun(t, vm, s.language, s.file, s.said)
						}
					})
				}
				t.Run(name+" more", func(t *testing.T) { s.more(t, name, path) })
			}
		})
	}
}

// scriptRunner returns the path of the runner of a language.
func scriptRunner(language string) string {
	l, _ := Lookup(language)
	return filepath.Join(built, "runners", language, l.Files[0])
}

// testForKrun: a benchmark in the style of Krun, also by its name in the working directory.
func testForKrun(t *testing.T, vm []string, language, file, said string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range sources(language) {
		if name, krun := strings.CutPrefix(f.Name, "krun/"); krun {
			must.Write(t, filepath.Join(dir, name), string(f.Data))
		}
	}
	two := called(said, "100", 1) + called(said, "100", 2)
	r := run{argv: slices.Concat(vm, []string{filepath.Join(dir, file), "100"}), iterations: 2}
	r.do(t).check(t, expect{0, 2, libkrun.StateDone, two, ""})
	r.argv[len(r.argv)-1] = "99"
	r.do(t).check(t, expect{1, 0, libkrun.StateReady,
		called(said, "99", 1) + "bad checksum: 4851 vs 4950\n", ""})
	r.argv[len(r.argv)-2], r.argv[len(r.argv)-1], r.dir = file, "100", dir
	r.do(t).check(t, expect{0, 2, libkrun.StateDone, two, ""})
}

// luaCases run on every VM, with and without its JIT compiler.
var luaCases = append(common(source("lua", "good"), 2000, "100", "1e3", "--1", "9007199254740994"),
	prints("gets the parameter", "function run_iter(...) print(select('#', ...), ...) end", "-7", 2,
		"1\t-7\n1\t-7\n"),
	prints("largest parameter", "function run_iter(n) print(n == 2 ^ 53) end", "9007199254740992", 1,
		"true\n"),
	prints("undeclared variables forbidden", source("lua", "strict"), "-0", 2, "0\n0\n"),
	checks(source("lua", "checks")),
	raises(source("lua", "raises"), "raised an exception in run_iter: "),
	fails("everything replaced", source("lua", "greedy"), ExitException, ": replaced all\n"),
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

// testLuaTraces: the compiler compiles the loop of run_iter and what follows it, through the runner
// into the next iteration, and never aborts.
func testLuaTraces(t *testing.T, _, vm string) {
	r := run{argv: []string{vm, scriptRunner("lua"), write(t, "bench.lua", source("lua", "traces")), "100"},
		iterations: 1000}
	r.do(t).check(t, expect{0, 1000, libkrun.StateDone, "true\t0\t\n", ""})
}

// pythonCases run on every interpreter.
var pythonCases = append(common(source("python", "good"), 20, "100", "ten", "--5"),
	prints("is a module", source("python", "main"), "-7", 2, "bench -7 True\nbench -7 True\n"),
	checks(source("python", "checks")),
	raises(source("python", "raises"), "raised an exception in run_iter: ValueError: third"),
	fails("no entry", "x = 1\n", ExitNoEntry, "has no function run_iter"),
	fails("entry is no function", "run_iter = 1\n", ExitNoEntry, "has no function run_iter"),
	fails("no file", "", ExitBenchmark, "cannot read the benchmark"),
	fails("syntax", "def run_iter(n:\n", ExitBenchmark, "SyntaxError"),
	fails("exception at load", "1 / 0\n", ExitBenchmark, "ZeroDivisionError"),
	fails("exit at load", "import sys\nsys.exit(5)\n", 5, ""),
)

// testPythonBeside: a benchmark imports files from its directory, even if the runner's directory
// has a file of that name, and no file is created in its directory. Only Python 2 has old classes.
func testPythonBeside(t *testing.T, name, interpreter string) {
	file := write(t, "bench.py", "import runner\ndef run_iter(n):\n    print(runner.VALUE)\n")
	must.Write(t, filepath.Join(filepath.Dir(file), "runner.py"), "VALUE = 'beside'\n")
	r := run{argv: []string{interpreter, scriptRunner("python"), file, "1"}, iterations: 1}
	r.do(t).check(t, expect{0, 1, libkrun.StateDone, "beside\n", ""})
	left := must.Get(os.ReadDir(filepath.Dir(file)))(t)
	must.Equal(t, len(left), 2, "the benchmark's directory")
	if strings.Contains(name, " 2.") {
		testScripts(t, r.argv[:2], "bench.py", []scriptCase{fails("old class",
			"class Odd: pass\ndef run_iter(n):\n    raise Odd()\n", ExitException,
			"raised an exception in run_iter: Odd")})
	}
}

// rubyCases run on every VM, with and without the extension.
var rubyCases = append(common(source("ruby", "good"), 20, "100", "1\nten"),
	prints("is required", source("ruby", "main"), "-7", 2, "bench.rb -7 true\nbench.rb -7 true\n"),
	prints("method of main", "def self.run_iter(n)\n  puts n\nend\n", "1", 1, "1\n"),
	checks(source("ruby", "checks")),
	raises(source("ruby", "raises"), "raised an exception in run_iter: ArgumentError: third\n"),
	fails("names of Kernel", source("ruby", "odd"), ExitException,
		"raised an exception in run_iter: IOError: caf\xff\n"),
	fails("stack overflow", "def run_iter(n)\n  run_iter(n)\nend\n", ExitException,
		"raised an exception in run_iter: "),
	fails("no message", "def run_iter(n)\n  raise StandardError, ''\nend\n", ExitException,
		"in run_iter: StandardError: "),
	fails("no entry", "x = 1\n", ExitNoEntry, "has no function run_iter"),
	fails("entry is no function", "run_iter = 1\n", ExitNoEntry, "has no function run_iter"),
	fails("no file", "", ExitBenchmark, "cannot read the benchmark"),
	fails("syntax", "def run_iter(n\n", ExitBenchmark,
		"raised an exception while it was loaded: SyntaxError: "),
	fails("exception at load", "1 / 0\n", ExitBenchmark,
		"raised an exception while it was loaded: ZeroDivisionError: divided by 0"),
	fails("missing library", "require 'nowhere'\n", ExitBenchmark,
		"raised an exception while it was loaded: LoadError: "),
	fails("exit at load", "exit 5\n", 5, ""),
)

// rubyWays are with the extension and, on CRuby, which alone has a use for it, without: by Fiddle's
// calls, as a copy of the runner in another directory.
func rubyWays(t testing.TB, name, path string) map[string][]string {
	ways := map[string][]string{"": {path, scriptRunner("ruby")}}
	if strings.HasPrefix(name, "ruby ") {
		copied := filepath.Join(t.TempDir(), "runner.rb")
		must.Write(t, copied, string(must.Get(os.ReadFile(scriptRunner("ruby")))(t)))
		ways[" Fiddle"] = []string{path, copied}
	}
	return ways
}

// testRubyExtension: on CRuby the calls are those of the extension if it exists.
func testRubyExtension(t *testing.T, name, path string) {
	if ways := rubyWays(t, name, path); len(ways) > 1 {
		for how, calls := range map[string]string{"": "own\n", " Fiddle": "Fiddle's\n"} {
			testScripts(t, ways[how], "bench.rb", []scriptCase{
				prints("calls"+how, source("ruby", "extension"), "1", 1, calls)})
		}
	}
}

// phpCases run on every VM, with and without its JIT compiler.
var phpCases = append(common(source("php", "good"), 500, "100", "1e3", "--1", "9223372036854775808"),
	prints("gets the parameter", "<?php function run_iter(int ...$n) { echo json_encode($n), PHP_EOL; }",
		"-7", 2, "[-7]\n[-7]\n"),
	prints("largest parameter", "<?php function run_iter($n) { var_dump($n === PHP_INT_MAX); }",
		"9223372036854775807", 1, "bool(true)\n"),
	prints("parameter as text", "<?php function run_iter(string $n) { echo $n; } return false;", "12", 1,
		"12"),
	scriptCase{"warning", "<?php function run_iter($n) { echo @$a, $b, 1; }", []string{"1"},
		run{iterations: 1}, expect{0, 1, libkrun.StateDone, "1", "$b"}},
	checks(source("php", "checks")),
	raises(source("php", "raises"), "raised an exception in run_iter: RangeException: third\n"),
	fails("everything replaced", source("php", "greedy"), ExitException,
		"in run_iter: LogicException: third of many\n"),
	fails("error", "<?php function run_iter($n) { return 1 % 0; }", ExitException,
		"in run_iter: DivisionByZeroError: "),
	fails("out of memory", source("php", "memory"), ExitException,
		"bench.php: fatal error in run_iter: Allowed memory size"),
	fails("exit after an error",
		"<?php @trigger_error('x', E_USER_WARNING); function run_iter($n) { exit(3); }", 3, ""),
	fails("no entry", "<?php $run_iter = 1;", ExitNoEntry, "bench.php has no function run_iter\n"),
	fails("no file", "", ExitBenchmark, "cannot read the benchmark: /nowhere/bench.php"),
	fails("syntax", "<?php function run_iter($n {}", ExitBenchmark,
		"raised an exception while it was loaded: ParseError: "),
	fails("two entries", "<?php function run_iter($n) {} function run_iter($n) {}", ExitBenchmark,
		"bench.php: fatal error while it was loaded: Cannot redeclare"),
	fails("exception at load", "<?php 1 % 0;", ExitBenchmark,
		"raised an exception while it was loaded: DivisionByZeroError: "),
	fails("missing file at load", "<?php require 'nowhere.php';", ExitBenchmark, "while it was loaded: "),
	fails("exit at load", "<?php exit(5);", 5, ""),
)

// phpJIT are the options that enable PHP's JIT compiler, even for a file that was just written.
var phpJIT = []string{"-d", "opcache.enable_cli=1", "-d", "opcache.jit=tracing", "-d",
	"opcache.jit_buffer_size=16M", "-d", "opcache.file_update_protection=0"}

// phpCompiles reports whether these options have that effect: the extension opcache contains the
// compiler, but not for every processor.
func phpCompiles(t testing.TB, path string) bool {
	t.Helper()
	argv := append(slices.Clone(phpJIT), "-r", "echo (int)(opcache_get_status(false)['jit']['on'] ?? 0);")
	answer, err := exec.CommandContext(t.Context(), path, argv...).Output()
	if err != nil || string(answer) != "1" {
		t.Logf("%s has no JIT compiler: %v %s", path, err, answer)
		return false
	}
	return true
}

// testPHPMessages: deprecations are dropped, and warnings are kept; without FFI the runner says so.
func testPHPMessages(t *testing.T, _, path string) {
	all := []string{path, "-d", "error_reporting=-1", "-d", "display_errors=1", "-d", "html_errors=1",
		scriptRunner("php")}
	testScripts(t, all, "bench.php", []scriptCase{
		prints("deprecated",
			"<?php class Old {}\nfunction run_iter($n) { $o = new Old; $o->undeclared = 1; }", "1", 3, ""),
		{"undefined", "<?php function run_iter($n) { return $unset; }", []string{"1"}, run{iterations: 3},
			expect{0, 3, libkrun.StateDone, "", ": Undefined variable"}},
	})
	testScripts(t, []string{path, "-d", "ffi.enable=0", scriptRunner("php")}, "bench.php", []scriptCase{
		{"FFI forbidden", source("php", "good"), []string{"1"}, run{iterations: 1},
			expect{ExitLibrary, 0, libkrun.StateNew, "", "ffi.enable"}}})
}
