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
				file := write(t, "bench.js", goodJavaScript)
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
	for _, name := range []string{"gc_count", "gc_time"} {
		must.EqualList(t, nonzero(e.column(t, name)), []int{10, 60, 110}, "is not 0")
	}
	// 200,000 arrays of one number
	if values := e.column(t, "heap_used"); slices.Min(values) < 5_000_000 || slices.Max(values) > 1<<30 {
		t.Errorf("heap_used is from %d to %d", slices.Min(values), slices.Max(values))
	}
	if values := e.column(t, "code_size"); slices.Min(values) < 1000 || slices.Max(values) > 1<<28 {
		t.Errorf("code_size is from %d to %d", slices.Min(values), slices.Max(values))
	}
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
