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

// TestJavaInstrument runs the programs of benchmarks/causes, whose README has the iterations that
// follow from a seed: with 10 a pulse is in 10, 60 and 110; with 0 a step is at 100.
func TestJavaInstrument(t *testing.T) {
	needBuilt(t)
	needJava(t)
	classes := make(map[string]string)
	for _, cause := range []string{"gc", "hot", "deopt"} {
		classes[cause] = t.TempDir()
		javac(t, classes[cause], "../benchmarks/causes/"+cause+"/java/KrunEntry.java")
	}
	for name, path := range runnertest.Interpreters(t, "java") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vm := javaVM(t, path)
			cause := func(t *testing.T, level, cause, seed string, options ...string) ended {
				t.Helper()
				argv := javaArgv(slices.Concat(vm, options), classes[cause], "KrunEntry")
				e := run{argv: append(argv, seed), iterations: 120, instrument: level}.do(t)
				e.check(t, expect{0, 120, libkrun.StateDone, "", ""})
				return e
			}
			t.Run("columns", func(t *testing.T) { checkJavaColumns(t, cause(t, "columns", "gc", "10")) })
			t.Run("columns without counters", func(t *testing.T) {
				argv := javaArgv(append(slices.Clone(vm), "-XX:-UsePerfData"), classes["gc"], "KrunEntry")
				e := run{argv: append(argv, "10"), iterations: 2, instrument: "columns"}.do(t)
				e.check(t, expect{0, 2, libkrun.StateDone, "", ""})
				must.Equal(t, e.columnNames(), "alloc_bytes code_size heap_used", "columns")
			})
			t.Run("gc", func(t *testing.T) {
				checkJavaColumns(t, cause(t, "events", "gc", "10"), "deopt_count")
			})
			// -Xbatch: the VM waits for its compiler, which may otherwise be late on a busy machine
			causeNames{"(System.gc())", "KrunEntry.fresh", "KrunEntry.work", "KrunEntry.work (class_check)",
				"-Xbatch"}.check(t, cause)
			t.Run("no Flight Recorder", func(t *testing.T) {
				argv := javaArgv(append(slices.Clone(vm), "--limit-modules", "jdk.management"), classes["gc"],
					"KrunEntry")
				e := run{argv: append(argv, "10"), iterations: 2, instrument: "events"}.do(t)
				e.check(t, expect{ExitInstrument, 0, libkrun.StateReady, "",
					"this VM cannot report what KRUN_INSTRUMENT asks for (events need JDK Flight Recorder"})
			})
			t.Run("off", func(t *testing.T) { testJavaOff(t, vm, classes["gc"]) })
		})
	}
}

func checkJavaColumns(t *testing.T, e ended, more ...string) {
	t.Helper()
	want := append([]string{"alloc_bytes", "code_size", "gc_count", "gc_time", "heap_used", "jit_count",
		"jit_time"}, more...)
	slices.Sort(want)
	must.Equal(t, e.columnNames(), strings.Join(want, " "), "columns")
	for _, name := range []string{"gc_count", "gc_time"} {
		must.EqualList(t, nonzero(e.column(t, name)), []int{10, 60, 110}, "is not 0")
	}
	for i, ns := range e.column(t, "gc_time") {
		must.Be(t, ns <= e.series.WallNS[i], "iteration", i, "collections took", ns, "ns of",
			e.series.WallNS[i])
	}
	for _, name := range []string{"heap_used", "code_size"} {
		if values := e.column(t, name); slices.Min(values) < 100_000 || slices.Max(values) > 1<<30 {
			t.Errorf("%s is from %d to %d", name, slices.Min(values), slices.Max(values))
		}
	}
	var allocated int64
	for _, bytes := range e.column(t, "alloc_bytes")[20:60] {
		allocated += bytes
	}
	if allocated > 1000 { // the VM itself allocates 48 bytes now and then
		t.Errorf("a program that allocates nothing allocated %d bytes", allocated)
	}
}

// checkEndsInside: an event that begins in an iteration ends in it.
func checkEndsInside(t *testing.T, e ended, kind libkrun.EventKind) {
	t.Helper()
	for i, start := range e.series.StartNS[:e.series.Done] {
		end := start + e.series.WallNS[i]
		for _, v := range e.series.Events {
			must.Be(t, v.Kind != kind || v.TimeNS < start || v.TimeNS >= end || v.TimeNS+v.DurationNS <= end,
				"iteration", i, "ended", v.TimeNS+v.DurationNS-end, "ns before", v)
		}
	}
}

// testJavaOff: without KRUN_INSTRUMENT the VM loads nothing for it.
func testJavaOff(t *testing.T, vm []string, classes string) {
	log := filepath.Join(t.TempDir(), "classes")
	argv := javaArgv(append(slices.Clone(vm), "-Xlog:class+load:file="+log), classes, "KrunEntry")
	e := run{argv: append(argv, "60"), iterations: 5}.do(t)
	e.check(t, expect{0, 5, libkrun.StateDone, "", ""})
	must.Equal(t, e.columnNames(), "", "columns")
	loaded := must.Get(os.ReadFile(log))(t)
	must.Need(t, strings.Contains(string(loaded), " KrunRunner "), "the log of classes lacks the runner",
		loaded)
	for _, name := range []string{"KrunInstrument", "KrunEvents", "java.lang.management.", "jdk.jfr.",
		"java.lang.ProcessEnvironment"} {
		must.Be(t, !strings.Contains(string(loaded), " "+name), name, "was loaded")
	}
}

// columnNames returns the names of the user columns, in the order of the alphabet.
func (e ended) columnNames() string {
	var names []string
	for _, c := range e.series.Columns {
		if c.Kind == libkrun.KindUser {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// during returns the iterations in which an event of this kind began whose name contains a text.
func (e ended) during(kind libkrun.EventKind, name string) []int {
	var found []int
	for i, start := range e.series.StartNS[:e.series.Done] {
		if slices.ContainsFunc(e.series.Events, func(v libkrun.Event) bool {
			return v.Kind == kind && strings.Contains(v.Name, name) &&
				v.TimeNS >= start && v.TimeNS < start+e.series.WallNS[i]
		}) {
			found = append(found, i)
		}
	}
	return found
}

// nonzero returns the iterations in which a column is not 0.
func nonzero(values []int64) []int {
	var found []int
	for i, v := range values {
		if v != 0 {
			found = append(found, i)
		}
	}
	return found
}

// first returns the first number, or -1.
func first(numbers []int) int {
	if len(numbers) == 0 {
		return -1
	}
	return numbers[0]
}
