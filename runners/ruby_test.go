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
