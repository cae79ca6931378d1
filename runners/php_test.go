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

const (
	goodPHP = `<?php
function run_iter($n)
{
    return array_sum(range(0, $n));
}
`
	// The interface of benchmarks that were written for Krun: global functions and variables, files
	// in the same directory, output.
	krunPHP = `<?php
require "helper.php";
require_once __DIR__ . "/other.php";
include "runner.php";
$expect = 4950;
$calls = 0;
function run_iter($n)
{
    global $expect;
    $GLOBALS["calls"]++;
    $total = add_up($n);
    echo OTHER, " ", VALUE, " $n {$GLOBALS["calls"]}\n";
    if ($total != $expect) {
        echo "bad checksum: $total vs $expect\n";
        exit(1);
    }
}
?>
`
	// A benchmark that uses the same names as the runner.
	greedyPHP = `<?php
foreach (array_keys($GLOBALS) as $name) {
    $$name = null;
}
$_SERVER = [];
class Run {}
function fail() { throw new LogicException("third\n\tof many"); }
function measure() { fail(); }
function parse() {}
function run_iter($n) { measure(); }
`
	checksumPHP = `<?php
function run_iter($n)
{
    static $calls = 0;
    if (++$calls == 4) {
        echo "bad checksum\n";
        exit(1);
    }
}
`
	raisingPHP = `<?php
function run_iter($n)
{
    static $calls = 0;
    if (++$calls == 3) {
        throw new RangeException("third");
    }
}
`
	memoryPHP = `<?php
ini_set("memory_limit", "16M");
function run_iter($n)
{
    for ($list = []; ; ) {
        $list[] = [$n, $n];
    }
}
`
)

// phpCases run on every VM, with and without its JIT compiler.
var phpCases = append(common(goodPHP, 500, "100", "1e3", "--1", "9223372036854775808"),
	prints("gets the parameter", "<?php function run_iter(int ...$n) { echo json_encode($n), PHP_EOL; }",
		"-7", 2, "[-7]\n[-7]\n"),
	prints("largest parameter", "<?php function run_iter($n) { var_dump($n === PHP_INT_MAX); }",
		"9223372036854775807", 1, "bool(true)\n"),
	prints("parameter as text", "<?php function run_iter(string $n) { echo $n; } return false;", "12", 1,
		"12"),
	scriptCase{"warning", "<?php function run_iter($n) { echo @$a, $b, 1; }", []string{"1"},
		run{iterations: 1}, expect{0, 1, libkrun.StateDone, "1", "$b"}},
	checks(checksumPHP),
	raises(raisingPHP, "raised an exception in run_iter: RangeException: third\n"),
	fails("everything replaced", greedyPHP, ExitException, "in run_iter: LogicException: third of many\n"),
	fails("error", "<?php function run_iter($n) { return 1 % 0; }", ExitException,
		"in run_iter: DivisionByZeroError: "),
	fails("out of memory", memoryPHP, ExitException,
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
func phpCompiles(t *testing.T, path string) bool {
	t.Helper()
	argv := append(slices.Clone(phpJIT), "-r", "echo (int)(opcache_get_status(false)['jit']['on'] ?? 0);")
	answer, err := exec.CommandContext(t.Context(), path, argv...).Output()
	if err != nil || string(answer) != "1" {
		t.Logf("%s has no JIT compiler: %v %s", path, err, answer)
		return false
	}
	return true
}

func phpRunner() string { return filepath.Join(built, "runners", "php", "runner.php") }

func TestPHP(t *testing.T) {
	needBuilt(t)
	for name, path := range runnertest.Interpreters(t, "php") {
		modes := map[string][]string{"": nil}
		if phpCompiles(t, path) {
			modes[" JIT"] = phpJIT
		}
		for how, options := range modes {
			vm := slices.Concat([]string{path}, options, []string{phpRunner()})
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				testScripts(t, vm, "bench.php", phpCases)
				t.Run("libraries", func(t *testing.T) {
					testScriptLibraries(t, vm, write(t, "bench.php", goodPHP))
				})
				t.Run("default library", func(t *testing.T) {
					testScriptDefault(t, vm, write(t, "bench.php", goodPHP))
				})
				t.Run("for Krun", func(t *testing.T) { testPHPForKrun(t, vm) })
			})
		}
		t.Run(name+" with all messages", func(t *testing.T) {
			old := write(t, "bench.php", "<?php class Old {}\nfunction run_iter($n) { $o = new Old; "+
				"$o->undeclared = 1; }")
			r := run{argv: []string{path, "-d", "error_reporting=-1", "-d", "display_errors=1", "-d",
				"html_errors=1", phpRunner(), old, "1"}, iterations: 3}
			r.do(t).check(t, expect{0, 3, libkrun.StateDone, "", ""})
			r.argv[len(r.argv)-2] = write(t, "bench.php", "<?php function run_iter($n) { return $unset; }")
			r.do(t).check(t, expect{0, 3, libkrun.StateDone, "", ": Undefined variable"})
		})
		t.Run(name+" forbids FFI", func(t *testing.T) {
			r := run{argv: []string{path, "-d", "ffi.enable=0", phpRunner(), write(t, "bench.php", goodPHP),
				"1"}, iterations: 1}
			r.do(t).check(t, expect{ExitLibrary, 0, libkrun.StateNew, "", "ffi.enable"})
		})
	}
}

// testPHPForKrun: a benchmark in the style of Krun, with files in its directory, one of them with
// the same name as a file in the runner's directory.
func testPHPForKrun(t *testing.T, vm []string) {
	file := write(t, "bench.php", krunPHP)
	for name, text := range map[string]string{
		"helper.php": "<?php function add_up($n) { for ($total = 0, $i = 0; $i < $n; $i++) $total += $i; " +
			"return $total; }\n",
		"other.php":  "<?php define('OTHER', 'other');\n",
		"runner.php": "<?php define('VALUE', 'beside');\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o644))
	}
	r := run{argv: slices.Concat(vm, []string{file, "100"}), iterations: 2}
	r.do(t).check(t, expect{0, 2, libkrun.StateDone, "other beside 100 1\nother beside 100 2\n", ""})
	r.argv[len(r.argv)-1] = "99"
	r.do(t).check(t, expect{1, 0, libkrun.StateReady, "other beside 99 1\nbad checksum: 4851 vs 4950\n", ""})
	r.argv[len(r.argv)-2], r.argv[len(r.argv)-1], r.dir = "bench.php", "100", filepath.Dir(file)
	r.do(t).check(t, expect{0, 2, libkrun.StateDone, "other beside 100 1\nother beside 100 2\n", ""})
}

const (
	goodRuby = `
def run_iter(n)
  n.times.sum
end
`
	// The interface of benchmarks that were written for Krun: methods of main, with global and
	// instance variables, and a file in the same directory.
	krunRuby = `
require "helper"
require_relative "other"
load File.join(File.dirname(__FILE__), "third.rb")
@expect = 4950
$calls = 0
def run_iter(n)
  $calls += 1
  total = add_up(n)
  puts "#{OTHER} #{third} #{self} #{$calls}"
  if total != @expect
    puts "bad checksum: #{total} vs #{@expect}"
    exit 1
  end
end
`
	mainRuby = `
raise "is a script" if __FILE__ == $0
require File.expand_path(__FILE__)
def run_iter(n)
  puts "#{File.basename(__FILE__)} #{n.inspect} #{$LOAD_PATH[0] == __dir__}"
end
`
	checksumRuby = `
$calls = 0
def run_iter(n)
  $calls += 1
  if $calls == 4
    puts "bad checksum"
    exit(1)
  end
end
`
	raisingRuby = `
$calls = 0
def run_iter(n)
  $calls += 1
  raise ArgumentError, "third\nof many" if $calls == 3
end
`
	// Names that Kernel has, too, and a message that is not valid text.
	oddRuby = `
def fail(*) end
def exit(*) end
def require(*) end
def run_iter(n)
  raise IOError, "caf\xff"
end
`
)

// rubyCases run on every VM, with and without the extension.
var rubyCases = append(common(goodRuby, 20, "100", "1\nten"),
	prints("is required", mainRuby, "-7", 2, "bench.rb -7 true\nbench.rb -7 true\n"),
	prints("method of main", "def self.run_iter(n)\n  puts n\nend\n", "1", 1, "1\n"),
	checks(checksumRuby),
	raises(raisingRuby, "raised an exception in run_iter: ArgumentError: third\n"),
	fails("names of Kernel", oddRuby, ExitException, "raised an exception in run_iter: IOError: caf\xff\n"),
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

func TestRuby(t *testing.T) {
	needBuilt(t)
	alone := rubyAlone(t)
	for name, path := range runnertest.Interpreters(t, "ruby") {
		for how, runner := range map[string]string{"": rubyRunner(), " without extension": alone} {
			if runner == alone && !strings.HasPrefix(name, "ruby ") {
				continue // it has no use for the extension
			}
			vm := []string{path, runner}
			t.Run(name+how, func(t *testing.T) {
				t.Parallel()
				testScripts(t, vm, "bench.rb", rubyCases)
				t.Run("libraries", func(t *testing.T) {
					testScriptLibraries(t, vm, write(t, "bench.rb", goodRuby))
				})
				t.Run("of Krun", func(t *testing.T) { testRubyOfKrun(t, vm) })
			})
		}
	}
}

func rubyRunner() string { return filepath.Join(built, "runners", "ruby", "runner.rb") }

// rubyAlone copies the runner to a directory without the extension, so that it uses Fiddle's calls.
func rubyAlone(t testing.TB) string {
	t.Helper()
	text := must.Get(os.ReadFile(rubyRunner()))(t)
	copied := filepath.Join(t.TempDir(), "runner.rb")
	must.Do(t, os.WriteFile(copied, text, 0o644))
	return copied
}

// testRubyOfKrun runs a benchmark in the style of Krun.
func testRubyOfKrun(t *testing.T, vm []string) {
	file := write(t, "bench.rb", krunRuby)
	for name, text := range map[string]string{
		"helper.rb": "def add_up(n)\n  (0...n).reduce(0, :+)\nend\n", "other.rb": "OTHER = 'other'\n",
		"third.rb": "def third\n  'third'\nend\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o644))
	}
	run{argv: slices.Concat(vm, []string{file, "100"}), iterations: 2}.do(t).
		check(t, expect{0, 2, libkrun.StateDone, "other third main 1\nother third main 2\n", ""})
	run{argv: slices.Concat(vm, []string{file, "99"}), iterations: 2}.do(t).
		check(t, expect{1, 0, libkrun.StateReady, "other third main 1\nbad checksum: 4851 vs 4950\n", ""})
}

// TestRubyExtension: on CRuby the calls are those of the extension if it exists.
func TestRubyExtension(t *testing.T) {
	needBuilt(t)
	file := write(t, "bench.rb", `
function = ObjectSpace.each_object(Fiddle::Function).find { |f| f.singleton_methods == [:call] }
puts function ? "own" : "Fiddle's"
def run_iter(n) end
`)
	for name, path := range runnertest.Interpreters(t, "ruby") {
		if !strings.HasPrefix(name, "ruby ") {
			continue
		}
		for runner, calls := range map[string]string{rubyRunner(): "own\n", rubyAlone(t): "Fiddle's\n"} {
			run{argv: []string{path, runner, file, "1"}, iterations: 1}.do(t).check(t,
				expect{0, 1, libkrun.StateDone, calls, ""})
		}
	}
}

// benchmarkEmptyRuby is the part of BenchmarkEmptyIteration for Ruby: with its JIT compilers, and
// with Fiddle only.
func benchmarkEmptyRuby(b *testing.B, file string) {
	alone := rubyAlone(b)
	for name, path := range runnertest.Interpreters(b, "ruby") {
		name = strings.Join(strings.Fields(name)[:2], " ")
		for how, options := range map[string][]string{"": nil, " YJIT": {"--yjit"}, " MJIT": {"--mjit"}} {
			vm := append([]string{path}, options...)
			if err := exec.CommandContext(b.Context(), path, append(options, "-e", "")...).Run(); err != nil {
				continue // this one does not have that compiler
			}
			b.Run(name+how, func(b *testing.B) {
				measureEmpty(b, slices.Concat(vm, []string{rubyRunner(), file})...)
			})
			if !strings.HasPrefix(name, "ruby ") {
				continue // has no use for the extension
			}
			b.Run(name+how+" Fiddle", func(b *testing.B) {
				measureEmpty(b, slices.Concat(vm, []string{alone, file})...)
			})
		}
	}
}
