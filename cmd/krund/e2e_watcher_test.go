//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/analysis/stability"
	"krund/internal/execution/child"
	"krund/internal/experiment/results"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// watchedExperiment is an experiment with [stop.iterations]. Its benchmarks run for a minute unless
// they are stopped.
func watchedExperiment(t *testing.T, section string) *experiment {
	t.Helper()
	if len(child.Affinity()) < 2 {
		t.Skip("one CPU: there is none for the watcher")
	}
	e := newExperiment(t)
	path, err := installControl()
	must.Do(t, err, path)
	e.iterations, e.extra = 500_000, "[stop.iterations]\nstep = \"20\"\n"+section
	return e
}

// slow is a benchmark of some 20 microseconds.
const slow = `void run_iter(int n) { for (volatile int i = 0; i < 20 * n; i++); }`

// decided checks that what the watcher decided is what the recorded series say, and returns it.
func decided(t *testing.T, r results.Record) *results.WatcherStop {
	t.Helper()
	must.Need(t, r.Watcher != nil && r.Watcher.Stop != nil && r.Watcher.Problem == "", r.Key, "watcher",
		r.Watcher)
	s := r.Watcher.Stop
	p := stability.Default()
	p.Threshold, p.WarmupMin, p.WarmupMax = s.Threshold, s.WarmupMin, s.WarmupMax
	p.Measure, p.Seed = s.Measure, s.Seed
	p.Profile = stability.Profile(s.Profile)
	step := must.Get(stability.ParseLength(s.Step))(t)
	p.Step = step
	online := must.Get(stability.NewOnline(p, stability.Criterion(s.Criterion), r.Pexec))(t)
	var d stability.Decision
	for _, ns := range r.WallNS {
		d = must.Get(online.Add(float64(ns) / 1e9))(t)
	}
	number := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	if number(s.Warmup) != d.Warmup || number(s.StopAt) != d.StopAt || s.Stable != d.Stable ||
		(s.Value != nil) != (d.Warmup > 0) || s.Value != nil && *s.Value != d.Value {
		t.Errorf("%s, execution %d: decided %+v, the record says %+v", r.Key, r.Pexec, *s, d)
	}
	if s.AskedAt != nil && (*s.AskedAt < *s.StopAt || *s.AskedAt > len(r.WallNS)) ||
		s.Warmup != nil && s.Measured != len(r.WallNS)-*s.Warmup {
		t.Errorf("%s: asked at %d, %d measured of %d, decided %+v", r.Key, number(s.AskedAt), s.Measured,
			len(r.WallNS), *s)
	}
	return s
}

// TestStopIterations: executions end when their measurement is complete, count as completed, and
// the decision follows from the recorded series. krunctl finds nothing wrong with them.
func TestStopIterations(t *testing.T) {
	for i, criterion := range stability.Criteria {
		t.Run(string(criterion), func(t *testing.T) {
			e := watchedExperiment(t, fmt.Sprintf("criterion = %q\nwarmup_max = 12\nmeasure = 3\n",
				criterion))
			e.executions = 2
			e.c("slow", slow)
			e.py("py", "def run_iter(n):\n    for _ in range(n): pass\n")
			e.run().want(t, exitOK)
			for _, r := range e.records() {
				s := decided(t, r)
				must.Be(t, r.Outcome == results.Completed && r.Stopped() && s.AskedAt != nil && !s.DryRun,
					r.Key, r.Outcome, r.Reasons, s)
				must.Be(t, r.Process.Affinity != nil && len(r.Process.Affinity) == len(child.Affinity())-1,
					"the benchmark ran on", r.Process.Affinity, "the watcher on", r.Watcher.CPU)
			}
			if i > 0 {
				return // what krunctl reads is the same
			}
			krunctl, _ := installControl()
			for _, args := range [][]string{{"check"}, {"show"}, {"analyze", "--resamples", "200"},
				{"report", "-o", filepath.Join(e.dir, "report.html")}, {"stability", "--step", "20"}} {
				c := exec.CommandContext(t.Context(), krunctl, append(args, e.directory)...)
				out, err := c.CombinedOutput()
				if err != nil && args[0] != "stability" { // there is no full experiment, which it says
					t.Errorf("krunctl %s: %v\n%s", args[0], err, out)
				}
			}
		})
	}
}

// TestStopIterationsDryRun: executions have all their iterations, and krunctl stability finds the
// same ends of warm-up.
func TestStopIterationsDryRun(t *testing.T) {
	e := watchedExperiment(t, "criterion = \"cv\"\ndry_run = true\n")
	e.iterations, e.executions = 1500, 2
	e.c("slow", slow)
	e.run().want(t, exitOK)
	for _, r := range e.records() {
		s := decided(t, r)
		must.Be(t, r.Outcome == results.Completed && !r.Stopped() && len(r.WallNS) == 1500 && s.StopAt != nil,
			r.Key, r.Outcome, "with", len(r.WallNS), "iterations", s)
		series := make([]float64, len(r.WallNS))
		for i, ns := range r.WallNS {
			series[i] = float64(ns) / 1e9
		}
		p := stability.Default()
		p.Step, p.Seed, p.Numbers = stability.Length{Iterations: 20}, s.Seed, []int{r.Pexec}
		offline := must.Get(stability.Of([][]float64{series}, []stability.Criterion{stability.CV}, p))(t)
		if w := offline.Criteria[0].Warmups[0]; w.First != *s.Warmup || w.Last+1 != *s.StopAt {
			t.Errorf("offline %d to %d, while it ran %d to %d", w.First, w.Last+1, *s.Warmup, *s.StopAt)
		}
	}
}

// TestWatcherDeceived: what a benchmark writes into the shared buffer while it runs harms nothing
// but its own executions. None counts with fewer iterations than the watcher asked for, the next
// one is measured, and the directory stays sound.
func TestWatcherDeceived(t *testing.T) {
	e := watchedExperiment(t, "criterion = \"cv\"\nwarmup_max = 12\nmeasure = 3\n")
	e.iterations = 1000
	const find = `
static char *buffer(void)
{
	static char *found;
	char line[512];
	FILE *maps = found ? 0 : fopen("/proc/self/maps", "r");
	unsigned long from, to;
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, " rw-s ") && strstr(line, "memfd:") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			found = (char *)from;
	if (maps) fclose(maps);
	return found;
}
#define AT(type, offset) (*(volatile type *)(buffer() + (offset)))
#define WALL AT(long, 48)
void run_iter(int m) { usleep(300); n++; `
	e.c("clears", find+`AT(int, 128) = 0; }`)
	e.c("jumps", find+`if (n == 5) AT(long, 272) = 1L << 40; }`)
	e.c("goesback", find+`if (n > 5) AT(long, 272) = n % 3; }`)
	e.c("negative", find+`if (n == 5) AT(long, WALL + 8) = -5; }`)
	e.c("crashes", find+`while (n == 900 && !AT(int, 128)) usleep(99); if (AT(int, 128)) abort(); }`)
	e.run()
	records := e.records()
	must.Equal(t, len(records), 5, "records")
	for _, r := range records {
		w := r.Watcher
		must.Be(t, r.Outcome != results.Completed || len(r.WallNS) >= e.iterations || w.Stop.AskedAt != nil &&
			len(r.WallNS) >= *w.Stop.StopAt, r.Key, "counts with", len(r.WallNS), "iterations", w)
	}
	r := e.of("crashes")
	must.Equal(t, r.Outcome, results.Error, r.Key)
	krunctl, _ := installControl()
	c := exec.CommandContext(t.Context(), krunctl, "check", e.directory)
	out, err := c.CombinedOutput()
	must.Be(t, err == nil, err, out)
}

// TestWatcherKilled: the execution goes on to its last iteration, and the record says why.
func TestWatcherKilled(t *testing.T) {
	e := watchedExperiment(t, "criterion = \"cv\"\n")
	e.iterations = 400
	e.c("meets", `void run_iter(int m) { if (n++ == 3) meet(); for (volatile int i = 0; i < m; i++); }`)
	r := e.start()
	e.meet(r)
	killed := 0
	for _, pid := range childrenOf(t, r.cmd.Process.Pid) {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(command), "watch-iterations") {
			e.must(syscall.Kill(pid, syscall.SIGKILL))
			killed++
		}
	}
	must.Need(t, killed == 1, killed, "watchers")
	e.letGo()
	r.wait().want(t, exitOK)
	record := e.outcome("meets", results.Completed, 400)
	w := record.Watcher
	must.Be(t, w != nil && w.Problem == "it ended before the execution: signal: killed" &&
		w.Stop.AskedAt == nil, w)
}

// childrenOf returns the children of all threads of a process.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	names := must.Get(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)))(t)
	for _, name := range names {
		text, _ := os.ReadFile(name) // the thread may have ended
		for field := range strings.FieldsSeq(string(text)) {
			child := must.Get(strconv.Atoi(field))(t)
			children = append(children, child)
		}
	}
	return children
}

// TestWatcherRefused: an experiment that cannot be watched does not start.
func TestWatcherRefused(t *testing.T) {
	e := watchedExperiment(t, "criterion = \"kld\"\n")
	e.c("good", good)
	path := e.write("test.toml", e.config())
	krunctl, _ := installControl()
	e.must(os.Rename(krunctl, krunctl+".away"))
	defer func() { e.must(os.Rename(krunctl+".away", krunctl)) }()
	for _, command := range []string{"run", "check"} {
		startKrund(t, filepath.Join(scratch, "prefix"), command, path).wait().want(t, exitError,
			"[stop.iterations]: start the watcher "+krunctl)
	}
	must.Refused(os.Lstat(e.directory))(t, "", "the directory of the experiment was created")
}

// TestDecideDiesWithKrund: a killed krund does not leave krunctl status --decision running until
// its deadline.
func TestDecideDiesWithKrund(t *testing.T) {
	e := goodExperiment(t)
	e.executions, e.extra = 3, "[stop]\nrules = [\"halfwidth\"]\n"
	began, ended := filepath.Join(e.dir, "began"), filepath.Join(e.dir, "ended")
	e.must(errors.Join(syscall.Mkfifo(began, 0o600), syscall.Mkfifo(ended, 0o600)))
	// The shell has the writing end of the second FIFO for as long as it lives.
	prefix := e.withKrunctl("exec 3>" + ended + "\necho >" + began + "\nexec sleep 1000\n")
	end, err := os.OpenFile(ended, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	e.must(err)
	defer end.Close()
	r := startKrund(t, prefix, "run", "--directory", e.directory, e.write("test.toml", e.config()))
	_, err = os.ReadFile(began)
	e.must(err)
	r.signal(syscall.SIGKILL)
	r.wait()
	if text, err := io.ReadAll(end); err != nil || len(text) > 0 { // ends when krunctl has ended
		t.Errorf("%q, %v", text, err)
	}
}

// confined calls start while this thread, and so what it starts, is bound to one CPU.
func confined[T any](t *testing.T, start func() T) T {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &before))
	only.Set(child.Affinity()[0])
	must.Do(t, unix.SchedSetaffinity(0, &only))
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	return start()
}

// TestTerminalIterations: on a terminal the number of iterations is shown if a CPU is left, and the
// record says so.
func TestTerminalIterations(t *testing.T) {
	e := watchedExperiment(t, "")
	e.iterations = 60
	e.c("slow", `void run_iter(int m) { usleep(20 * m); }`)
	config := e.write("test.toml", e.config())
	for _, spare := range []bool{true, false} {
		e.must(os.RemoveAll(e.directory))
		master, slave := terminal(t)
		c := exec.CommandContext(t.Context(), filepath.Join(scratch, "prefix", "bin", "krund"), "run",
			"--directory", e.directory, config)
		c.Env = append(os.Environ(), "TERM=xterm")
		c.Stdout, c.Stderr = slave, slave
		if spare {
			e.must(confined(t, c.Start))
		} else {
			e.must(c.Start())
		}
		_ = slave.Close()
		output, _ := io.ReadAll(master) // ends with EIO when the last writer has closed it
		e.must(c.Wait())
		shown := regexp.MustCompile(`\[1/1\] slow:C:so, execution 1  running \d+ of 60`).Match(output)
		if w := e.of("slow").Watcher; shown != spare || spare != (w != nil && w.Shows && w.Stop == nil) {
			t.Errorf("with another CPU %v: shown %v, watcher %+v\n%q", spare, shown, w, output)
		}
		states, stayed := lines(strings.ReplaceAll(string(output), "\r\n", "\n"))
		must.Be(t, len(states) != 0 && !strings.Contains(strings.Join(stayed, "\n"), "running"), "glued",
			stayed)
	}
}

// TestStopIterationsOfVMs: Java and Node stop, too, and their decisions follow from the series.
func TestStopIterationsOfVMs(t *testing.T) {
	for language, benchmark := range map[string]struct{ entry, file, source string }{
		"java": {"KrunEntry.class", "KrunEntry.java", `class KrunEntry implements BaseKrunEntry {
	static volatile int sum;
	public void run_iter(int n) { for (int i = 0; i < n; i++) sum += i; }
}
`},
		"javascript": {"bench.js", "bench.js",
			"function run_iter(n) { for (let i = 0, s = 0; i < 20 * n; i++) s += i; }\n"},
	} {
		t.Run(language, func(t *testing.T) {
			var program string
			for _, program = range runnertest.Interpreters(t, language) {
				break
			}
			e := watchedExperiment(t, "criterion = \"cv\"\nwarmup_max = 12\nmeasure = 3\n")
			e.heap = "none"
			e.add("slow", language)
			source := e.write(filepath.Join("benchmarks/slow", benchmark.file), benchmark.source)
			if language == "java" {
				c := exec.CommandContext(t.Context(), "javac", "-cp",
					filepath.Join(scratch, "prefix/libexec/krund/java"), source)
				if out, err := c.CombinedOutput(); err != nil {
					t.Skipf("no compiler: %v\n%s", err, out)
				}
			}
			e.extra += fmt.Sprintf("[vms.%s]\nrunner = %[1]q\npath = %q\nvariants = [\"v\"]\n[variants.v]\n"+
				"entry = %q\n", language, program, benchmark.entry)
			e.run().want(t, exitOK)
			r := e.of("slow")
			s := decided(t, r)
			must.Be(t, r.Outcome == results.Completed && r.Stopped(), r.Key, r.Outcome, r.Reasons, s)
		})
	}
}
