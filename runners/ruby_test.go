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
var rubyCases = []struct {
	name   string
	source string // "" for a file that is not there
	args   []string
	run    run
	want   expect
}{
	{"measures", goodRuby, []string{"100"}, run{iterations: 20}, expect{0, 20, libkrun.StateDone, "", ""}},
	{"stopped", goodRuby, []string{"100"}, run{iterations: 20, stopped: true}, expect{0, 0, libkrun.StateDone,
		"", ""}},
	{"is required", mainRuby, []string{"-7"}, run{iterations: 2}, expect{0, 2, libkrun.StateDone,
		"bench.rb -7 true\nbench.rb -7 true\n", ""}},
	{"method of main", "def self.run_iter(n)\n  puts n\nend\n", []string{"1"}, run{iterations: 1},
		expect{0, 1, libkrun.StateDone, "1\n", ""}},
	{"wrong checksum", checksumRuby, []string{"1"}, run{iterations: 10}, expect{1, 3, libkrun.StateReady,
		"bad checksum\n", ""}},
	{"exception", raisingRuby, []string{"1"}, run{iterations: 10}, expect{ExitException, 2,
		libkrun.StateReady, "", "raised an exception in run_iter: ArgumentError: third\n"}},
	{"names of Kernel", oddRuby, []string{"1"}, run{iterations: 1}, expect{ExitException, 0,
		libkrun.StateReady, "", "raised an exception in run_iter: IOError: caf\xff\n"}},
	{"stack overflow", "def run_iter(n)\n  run_iter(n)\nend\n", []string{"1"}, run{iterations: 1},
		expect{ExitException, 0, libkrun.StateReady, "", "raised an exception in run_iter: "}},
	{"no message", "def run_iter(n)\n  raise StandardError, ''\nend\n", []string{"1"}, run{iterations: 1},
		expect{ExitException, 0, libkrun.StateReady, "", "in run_iter: StandardError: "}},
	{"no entry", "x = 1\n", []string{"1"}, run{iterations: 1}, expect{ExitNoEntry, 0, libkrun.StateReady, "",
		"has no function run_iter"}},
	{"entry is no function", "run_iter = 1\n", []string{"1"}, run{iterations: 1}, expect{ExitNoEntry, 0,
		libkrun.StateReady, "", "has no function run_iter"}},
	{"no file", "", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0, libkrun.StateReady, "",
		"cannot read the benchmark"}},
	{"syntax", "def run_iter(n\n", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "raised an exception while it was loaded: SyntaxError: "}},
	{"exception at load", "1 / 0\n", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "raised an exception while it was loaded: ZeroDivisionError: divided by 0"}},
	{"missing library", "require 'nowhere'\n", []string{"1"}, run{iterations: 1}, expect{ExitBenchmark, 0,
		libkrun.StateReady, "", "raised an exception while it was loaded: LoadError: "}},
	{"exit at load", "exit 5\n", []string{"1"}, run{iterations: 1}, expect{5, 0, libkrun.StateReady, "", ""}},
	{"no parameter", goodRuby, nil, run{iterations: 1}, expect{ExitUsage, 0, libkrun.StateNew, "",
		"usage: "}},
	{"two parameters", goodRuby, []string{"1", "2"}, run{iterations: 1},
		expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	{"text as parameter", goodRuby, []string{"1\nten"}, run{iterations: 1},
		expect{ExitUsage, 0, libkrun.StateNew, "", "usage: "}},
	{"no buffer", goodRuby, []string{"1"}, run{iterations: 1, noBuffer: true},
		expect{ExitInit, 0, libkrun.StateNew, "", "krun_init: the descriptor"}},
	{"no library", goodRuby, []string{"1"},
		run{iterations: 1, env: []string{"KRUN_LIBRARY=/nowhere/libkrun.so"}}, expect{ExitLibrary, 0,
			libkrun.StateNew, "", "set KRUN_LIBRARY"}},
}

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
				for _, test := range rubyCases {
					t.Run(test.name, func(t *testing.T) {
						file := "/nowhere/bench.rb"
						if test.source != "" {
							file = write(t, "bench.rb", test.source)
						}
						test.run.argv = slices.Concat(vm, []string{file}, test.args)
						test.run.do(t).check(t, test.want)
					})
				}
				t.Run("wrong library", func(t *testing.T) { testRubyLibrary(t, vm) })
				t.Run("failing library", func(t *testing.T) { testRubyMeasure(t, vm) })
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

// testRubyLibrary runs the runner with unusable libraries.
func testRubyLibrary(t *testing.T, vm []string) {
	file := write(t, "bench.rb", goodRuby)
	functions := "void *krun_init, *krun_should_stop, *krun_begin, *krun_end, *krun_done, *krun_strerror;"
	for source, complaint := range map[string]string{
		"int other(void) { return 1; }":                        "cannot load libkrun",
		functions + " int krun_version(void) { return 1000; }": "interface version 1000, this runner needs 1",
	} {
		r := run{argv: slices.Concat(vm, []string{file, "1"}), iterations: 1,
			env: []string{"KRUN_LIBRARY=" + compile(t, source)}}
		r.do(t).check(t, expect{ExitLibrary, 0, libkrun.StateNew, "", complaint})
	}
}

// testRubyMeasure runs the runner with a library whose krun_end or krun_done fails, and with one
// whose handle is not a small number. The benchmark prints that it ran.
func testRubyMeasure(t *testing.T, vm []string) {
	file := write(t, "bench.rb", "def run_iter(n)\n  puts n\nend\n")
	const library = `
		#define HANDLE ((void *)0x7ffffffffffffff0)
		static int calls;
		int krun_version(void) { return 1; }
		int krun_init(void **k) { *k = HANDLE; return 0; }
		int krun_should_stop(void *k) { return k != HANDLE || calls > 0; }
		int krun_begin(void *k) { return k == HANDLE ? 0 : -1; }
		int krun_end(void *k) { calls++; return k == HANDLE ? END : -1; }
		int krun_done(void *k) { return k == HANDLE ? DONE : -1; }
		const char *krun_strerror(int code) { return code == -11 ? "eleven" : "?"; }
	`
	for codes, want := range map[string]expect{
		"#define END 0\n#define DONE 0\n": {0, 0, libkrun.StateNew, "3\n", ""},
		"#define END -11\n#define DONE 0\n": {ExitMeasure, 0, libkrun.StateNew, "3\n",
			"krun_begin or krun_end: eleven\n"},
		"#define END 0\n#define DONE -11\n": {ExitMeasure, 0, libkrun.StateNew, "3\n",
			"krun_begin or krun_end: eleven\n"},
	} {
		r := run{argv: slices.Concat(vm, []string{file, "3"}), iterations: 1,
			env: []string{"KRUN_LIBRARY=" + compile(t, codes+library)}}
		r.do(t).check(t, want)
	}
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
