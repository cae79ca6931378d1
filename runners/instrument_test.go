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

// With this seed the programs of benchmarks/causes have pulses in 10, 60, ... and their step at
// 100 + (37·30 mod 100) = 110; their README has the formula.
var (
	pulses = []int{10, 60}
	step   = 110
)

const (
	pulseSeed, pulseIterations = "10", 65
	stepSeed, stepIterations   = "30", 125
)

// instrumented are VMs with the programs of benchmarks/causes, and what they can tell.
var instrumented = []struct {
	name, language string
	options        []string
	// collections are the names of the events of a full collection; "" any name.
	collections string
	// compiles and deopts report whether the VM has such events, codeSize that column.
	compiles, deopts, codeSize bool
}{
	{"CPython", "python", nil, "generation 2", false, false, false},
	{"PyPy", "python", nil, "step of a major one", true, true, true},
	{"LuaJIT", "lua", nil, "", true, true, true},
	{"ruby", "ruby", nil, "major", false, false, false},
	{"ruby", "ruby", []string{"--yjit"}, "major", false, false, true},
	{"PHP", "php", nil, "", false, false, false},
	{"PHP", "php", phpJIT, "", false, false, true},
}

var extensions = map[string]string{"python": "py", "lua": "lua", "ruby": "rb", "php": "php"}

// cause returns the command line of a program of benchmarks/causes.
func cause(vm []string, language, name, seed string) []string {
	file := "bench." + extensions[language]
	return append(slices.Clone(vm), filepath.Join(built, "runners", language, "runner."+extensions[language]),
		filepath.Join(root(), "benchmarks", "causes", name, language, file), seed)
}

// root returns the directory of the project.
func root() string {
	dir, err := filepath.Abs("..")
	if err != nil {
		panic(err)
	}
	return dir
}

func TestInstrument(t *testing.T) {
	needBuilt(t)
	for _, test := range instrumented {
		for vm, path := range runnertest.Interpreters(t, test.language) {
			if !strings.HasPrefix(vm, test.name) || strings.HasPrefix(vm, "CPython 2") {
				continue
			}
			argv := append([]string{path}, test.options...)
			if exec.CommandContext(t.Context(), path, append(test.options, "-v")...).Run() != nil {
				t.Logf("%s does not have the options %v", vm, test.options)
				continue
			}
			t.Run(strings.Join(append([]string{vm}, test.options...), " "), func(t *testing.T) {
				t.Parallel()
				t.Run("gc", func(t *testing.T) {
					e := instrument(t, cause(argv, test.language, "gc", pulseSeed), pulseIterations)
					e.wantCollections(t, pulses, test.collections)
				})
				if test.compiles || test.codeSize {
					t.Run("hot", func(t *testing.T) {
						e := instrument(t, cause(argv, test.language, "hot", stepSeed), stepIterations)
						e.wantCompilation(t, test.compiles)
					})
				}
				if test.deopts {
					t.Run("deopt", func(t *testing.T) {
						e := instrument(t, cause(argv, test.language, "deopt", stepSeed), stepIterations)
						e.wantStep(t, "deopt_count", libkrun.EventDeopt)
					})
				}
			})
		}
	}
}

// instrument runs a program with events.
func instrument(t *testing.T, argv []string, iterations int) ended {
	t.Helper()
	e := run{argv: argv, iterations: iterations, instrument: "events"}.do(t)
	e.check(t, expect{0, iterations, libkrun.StateDone, "", ""})
	return e
}

// column returns the values of a column.
func (e ended) column(t *testing.T, name string) []int64 {
	t.Helper()
	for _, c := range e.series.Columns {
		if c.Name == name {
			return c.Values
		}
	}
	t.Fatalf("no column %s", name)
	return nil
}

// eventsIn returns the iterations in which events of a kind began, with a name unless it is "".
func (e ended) eventsIn(kind libkrun.EventKind, name string) []int {
	var in []int
	for _, event := range e.series.Events {
		at, started := slices.BinarySearch(e.series.StartNS, event.TimeNS)
		if !started {
			at--
		}
		if event.Kind == kind && (name == "" || event.Name == name) && at >= 0 &&
			event.TimeNS <= e.series.StartNS[at]+e.series.WallNS[at] {
			in = append(in, at)
		}
	}
	slices.Sort(in)
	return slices.Compact(in)
}

// wantCollections: exactly the iterations of the pulses have an event, and more collections than
// any other. PyPy collects its nursery at other times, too.
func (e ended) wantCollections(t *testing.T, pulses []int, name string) {
	t.Helper()
	must.EqualList(t, e.eventsIn(libkrun.EventGC, name), pulses, "collections")
	e.wantMore(t, "gc_count", pulses)
}

// wantMore: the value of a column in each of these iterations is larger than in any other.
func (e ended) wantMore(t *testing.T, column string, iterations []int) {
	t.Helper()
	var others int64
	values := e.column(t, column)
	for i, v := range values {
		if !slices.Contains(iterations, i) {
			others = max(others, v)
		}
	}
	for _, i := range iterations {
		must.Be(t, values[i] > others, column, values[i], "in iteration", i, "up to", others, "in others")
	}
}

// wantCompilation: the VM compiles at the step and not just before, at least as its code grows.
func (e ended) wantCompilation(t *testing.T, events bool) {
	t.Helper()
	size := e.column(t, "code_size")
	must.Be(t, size[step+2] > size[step-1] && size[step-5] == size[step-1], "code_size",
		size[step-5:step+3], "from five iterations before the step on")
	if events {
		e.wantStep(t, "jit_count", libkrun.EventCompile)
	}
}

// wantStep: an event and the column show the step within three iterations, and the twenty before
// have neither.
func (e ended) wantStep(t *testing.T, column string, kind libkrun.EventKind) {
	t.Helper()
	in := e.eventsIn(kind, "")
	after := func(i int) bool { return i >= step && i < step+3 }
	before := func(i int) bool { return i >= step-20 && i < step }
	must.Be(t, slices.ContainsFunc(in, after) && !slices.ContainsFunc(in, before), "events", kind,
		"in iterations", in, "the step is at", step)
	values := e.column(t, column)
	must.Be(t, slices.Max(values[step:step+3]) != 0 && slices.Max(values[step-20:step]) <= 0, column,
		values[step-20:step+3], "from 20 iterations before the step on")
}

// TestInstrumentGo: Go reports the pauses of a collection.
func TestInstrumentGo(t *testing.T) {
	needBuilt(t)
	r := run{argv: []string{buildGo(t), pulseSeed}, iterations: pulseIterations, instrument: "events",
		env: []string{"CASE=gc", "GOGC=off"}}
	e := r.do(t)
	e.check(t, expect{0, pulseIterations, libkrun.StateDone, "", ""})
	e.wantCollections(t, pulses, "pauses")
	e.wantMore(t, "gc_time", pulses)
}

// TestInstrumentDotnet: Mono has columns only.
func TestInstrumentDotnet(t *testing.T) {
	needBuilt(t)
	cases := compileCSharp(t, "testdata/Cases.cs")
	for vm, path := range runnertest.Interpreters(t, "dotnet") {
		t.Run(vm, func(t *testing.T) {
			r := run{argv: []string{path, dotnetRunner(), cases, pulseSeed}, iterations: pulseIterations,
				env: []string{"CASE=gc"}, instrument: "events"}
			e := r.do(t)
			e.check(t, expect{0, pulseIterations, libkrun.StateDone, "", ""})
			e.wantMore(t, "gc_count", pulses)
			e.wantMore(t, "heap_used", nil)
		})
	}
}

// TestInstrumentC: the heap of a program in C grows by what it allocates.
func TestInstrumentC(t *testing.T) {
	needBuilt(t)
	source := `#include <stdlib.h>
		void *kept;
		void run_iter(int n) { static int i; if (i++ == 5) kept = malloc(n); }`
	runner := filepath.Join(built, "runners", "c", "runner")
	used := instrument(t, []string{runner, compile(t, source), "100000"}, 10).column(t, "heap_used")
	must.Be(t, used[4] == used[0] && used[5]-used[4] >= 100000 && used[9] == used[5], "heap_used", used)
}

// TestInstrumentLevels: without KRUN_INSTRUMENT there are neither columns nor events, and with
// "columns" no events.
func TestInstrumentLevels(t *testing.T) {
	needBuilt(t)
	for language := range extensions {
		for vm, path := range runnertest.Interpreters(t, language) {
			for _, level := range []string{"", "columns"} {
				t.Run(vm+" "+level, func(t *testing.T) {
					argv := cause([]string{path}, language, "gc", pulseSeed)
					e := run{argv: argv, iterations: 20, instrument: level}.do(t)
					e.check(t, expect{0, 20, libkrun.StateDone, "", ""})
					must.Be(t, len(e.series.Events) <= 0, len(e.series.Events), "events")
					want := level != "" && !strings.HasPrefix(vm, "CPython 2")
					must.Be(t, len(e.series.Columns) > 0 == want, "columns", e.series.Columns)
				})
			}
		}
	}
}

// TestInstrumentMissing: a runner without its part for instrumenting says so.
func TestInstrumentMissing(t *testing.T) {
	needBuilt(t)
	for language, extension := range extensions {
		for vm, path := range runnertest.Interpreters(t, language) {
			t.Run(vm, func(t *testing.T) {
				argv := cause([]string{path}, language, "sleep", "10")
				source := must.Get(os.ReadFile(argv[1]))(t)
				argv[1] = write(t, "runner."+extension, string(source))
				run{argv: argv, iterations: 1, instrument: "columns"}.do(t).check(t, expect{ExitInstrument, 0,
					libkrun.StateReady, "", "KRUN_INSTRUMENT needs instrument." + extension})
			})
		}
	}
}

// TestInstrumentPyPy: PyPy crashes when it is asked for the statistics of a JIT compiler that has
// compiled nothing. The runner leaves their columns out when it is off.
func TestInstrumentPyPy(t *testing.T) {
	needBuilt(t)
	for vm, path := range runnertest.Pythons(t) {
		if !strings.HasPrefix(vm, "PyPy") {
			continue
		}
		for _, options := range [][]string{nil, {"--jit", "off"}} {
			file := write(t, "bench.py", "def run_iter(n):\n    pass\n")
			argv := slices.Concat([]string{path}, options, []string{scriptRunner("python"), file, "1"})
			want := 7
			if options != nil {
				want = 3
			}
			must.Equal(t, len(instrument(t, argv, 3).series.Columns), want, options, "columns")
		}
	}
}

// TestInstrumentRuby: a collection frees what the iterations before it created.
func TestInstrumentRuby(t *testing.T) {
	needBuilt(t)
	file := write(t, "bench.rb", `GC.disable
		$i = -1
		def run_iter(n)
		  $i += 1
		  $i == 5 ? GC.start : n.times { [] }
		end`)
	for vm, path := range runnertest.Interpreters(t, "ruby") {
		t.Run(vm, func(t *testing.T) {
			runner := filepath.Join(built, "runners", "ruby", "runner.rb")
			e := instrument(t, []string{path, runner, file, "20000"}, 8)
			freed := e.column(t, "freed_blocks")
			must.Be(t, freed[5] >= 5*20000 && slices.Max(freed[:5]) <= 0, "freed_blocks", freed)
		})
	}
}

// TestInstrumentOwnCode: LuaJIT compiles instrument.lua, too, which is not reported. The runner's
// loop has a name of its own.
func TestInstrumentOwnCode(t *testing.T) {
	needBuilt(t)
	// what string.gsub calls back is not compiled, so the loop of the runner is given up there
	file := write(t, "bench.lua", `local s = 0
		function run_iter(n)
			string.gsub("x", "x", function() s = s + 1 end)
			for i = 1, n do s = s + i % 7 end
		end`)
	for vm, path := range runnertest.Interpreters(t, "lua") {
		if !strings.HasPrefix(vm, "LuaJIT") {
			continue
		}
		runner := filepath.Join(built, "runners", "lua", "runner.lua")
		e := instrument(t, []string{path, runner, file, "200"}, 400)
		var names []string
		for _, event := range e.series.Events {
			if event.Kind == libkrun.EventCompile || event.Kind == libkrun.EventDeopt {
				names = append(names, event.Name)
			}
		}
		own := func(name string) bool {
			return strings.HasPrefix(name, "instrument.lua") || strings.HasPrefix(name, "runner.lua")
		}
		must.Be(t, !slices.ContainsFunc(names, own) && slices.Contains(names, "the runner's loop") &&
			slices.Contains(names, "bench.lua:4"), "compilations of", names)
	}
}

// causeNames are the names of the events that a VM reports of the programs of benchmarks/causes.
type causeNames struct {
	collection      string // forced
	fresh, work     string // compilations of the function that becomes hot, and of the usual one
	deoptimization  string
	waitForCompiler string // option of the VM
}

// check tests that each event is in the iteration that follows from the seed: with 10 a pulse is in
// 10, 60 and 110; with 0 a step is at 100.
func (n causeNames) check(t *testing.T,
	cause func(t *testing.T, level, cause, seed string, options ...string) ended) {
	t.Run("events of gc", func(t *testing.T) {
		e := cause(t, "events", "gc", "10")
		must.EqualList(t, e.during(libkrun.EventGC, n.collection), []int{10, 60, 110},
			"events of collections")
		checkEndsInside(t, e, libkrun.EventGC)
	})
	t.Run("events of hot", func(t *testing.T) {
		e := cause(t, "events", "hot", "0", n.waitForCompiler)
		got := e.during(libkrun.EventCompile, n.fresh)
		must.Equal(t, first(got), 100, "compilations in", got)
		got = e.during(libkrun.EventCompile, n.work)
		must.Be(t, len(got) != 0 && slices.Max(got) < 100, "compilations of the usual work in", got)
	})
	t.Run("events of deopt", func(t *testing.T) {
		e := cause(t, "events", "deopt", "0", n.waitForCompiler)
		got := e.during(libkrun.EventDeopt, n.deoptimization)
		must.Equal(t, first(got), 100, "deoptimizations in", got)
		counts := e.column(t, "deopt_count")
		must.Be(t, counts[100] != 0 && len(counts) == 120, "deopt_count", counts)
	})
}

// TestJavaScriptInstrument runs the programs of benchmarks/causes, whose README has the iterations
// that follow from a seed: with 10 a pulse is in 10, 60 and 110; with 0 a step is at 100.
func TestJavaScriptInstrument(t *testing.T) {
	needBuilt(t)
	for name, path := range runnertest.Interpreters(t, "javascript") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cause := func(t *testing.T, level, cause, seed string, options ...string) ended {
				t.Helper()
				file := must.Get(filepath.Abs("../benchmarks/causes/" + cause + "/javascript/bench.js"))(t)
				e := instrumentedJavaScript(t, path, file, level, seed, options...)
				e.check(t, expect{0, 120, libkrun.StateDone, "", ""})
				return e
			}
			t.Run("columns", func(t *testing.T) {
				checkJavaScriptColumns(t, cause(t, "columns", "gc", "10"), "")
			})
			t.Run("off", func(t *testing.T) { testJavaScriptOff(t, path) })
			if strings.HasPrefix(name, "Node v12.") || strings.HasPrefix(name, "Node v14.") {
				t.Skip("no events before Node 16: it writes its log to a file with a name")
			}
			t.Run("gc", func(t *testing.T) {
				checkJavaScriptColumns(t, cause(t, "events", "gc", "10"), "deopt_count ")
			})
			// --single-threaded: V8 waits for its compiler, as with -Xbatch in Java
			causeNames{"mark-compact", "fresh bench.js", "work bench.js", "(wrong map)",
				"--single-threaded"}.check(t, cause)
			t.Run("no options", func(t *testing.T) {
				file := write(t, "bench.js", source("javascript", "good"))
				r := run{argv: append(javaScriptArgv(path, file), "1"), iterations: 1, instrument: "events"}
				r.do(t).check(t, expect{ExitInstrument, 0, libkrun.StateReady, "",
					"V8 cannot report what KRUN_INSTRUMENT asks for: Error: events need Node 16"})
			})
		})
	}
}

// instrumentedJavaScript runs a benchmark for 120 iterations with the options that krund gives, and
// checks that no file is left in its directory.
func instrumentedJavaScript(t *testing.T, vm, file, level, parameter string,
	options ...string,
) ended {
	t.Helper()
	language, _ := Lookup("javascript")
	argv := javaScriptArgv(vm, file)
	dir := t.TempDir()
	argv = slices.Concat(argv[:1], options, language.InstrumentOptions(level), argv[1:], []string{parameter})
	e := run{argv: argv, dir: dir, iterations: 120, instrument: level}.do(t)
	left, err := os.ReadDir(dir)
	must.Be(t, err == nil && len(left) <= 0, "left", left, err)
	return e
}

func checkJavaScriptColumns(t *testing.T, e ended, more string) {
	t.Helper()
	// V8 up to 11, of Node 20, reports compilations to a program that it is embedded in.
	names := "code_size " + more + "gc_count gc_freed gc_time heap_used"
	got := e.columnNames()
	must.Be(t, got == names || got == names+" jit_count jit_time", "columns", got)
	e.checkCollected(t)
	e.checkRange(t, "heap_used", 5_000_000, 1<<30) // 200,000 arrays of one number
	e.checkRange(t, "code_size", 1000, 1<<28)
	used, freed := e.column(t, "heap_used"), e.column(t, "gc_freed")
	for _, i := range []int{10, 60, 110} {
		if got, want := used[i-1]-used[i], freed[i]; got > want || got < want-500_000 {
			t.Errorf("iteration %d: the heap shrank by %d bytes, freed were %d", i, got, want)
		}
	}
}

// testJavaScriptOff: without KRUN_INSTRUMENT Node loads nothing for it, and krun.node has no other
// functions.
func testJavaScriptOff(t *testing.T, vm string) {
	addon := filepath.Join(built, "runners", "javascript", "krun.node")
	file := write(t, "bench.js", `
print(Object.keys(require.cache).map((f) => f.replace(/.*[/]/, "")));
print(Object.keys(require("`+addon+`")));
function run_iter(n) {}
`)
	r := run{argv: append(javaScriptArgv(vm, file), "1"), iterations: 2}
	r.do(t).check(t, expect{0, 2, libkrun.StateDone,
		"runner.js\nversion,init,shouldStop,begin,end,done,strerror,column,set,input,iterations\n", ""})
}
