//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// These tests run krund as a user does: the program, a TOML file, and real benchmarks in C and
// Python that misbehave in many ways.

// scratch is where krund is installed for the tests. TestMain makes and removes it.
var scratch string

func TestMain(m *testing.M) { os.Exit(inScratch(m.Run)) }

func inScratch(run func() int) int {
	dir, err := os.MkdirTemp("", "krund-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	scratch = dir
	return run()
}

// install builds krund, libkrun and the runners, once, where `make install` would put them.
var install = sync.OnceValue(func() error {
	build, prefix := filepath.Join(scratch, "build"), filepath.Join(scratch, "prefix")
	ctx := context.Background()
	if err := errors.Join(os.Mkdir(build, 0o755), runnertest.CopyRunners(build, "../../build")); err != nil {
		return err
	}
	program := goBuild(filepath.Join(prefix, "bin", "krund"), ".")
	parts := exec.CommandContext(ctx, "make", "--silent", "-C", "../../runners", "install", "BUILD="+build,
		"INTO="+filepath.Join(prefix, "libexec", "krund"))
	for _, c := range []*exec.Cmd{program, parts} {
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", c, err, out)
		}
	}
	for from, to := range map[string]string{"lib/libkrun.so": "lib/krund/libkrun.so"} {
		to = filepath.Join(prefix, to)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(filepath.Join(build, from),
			to)); err != nil {
			return err
		}
	}
	return nil
})

// goBuild builds a program as the Makefile does, so that Go's cache has the packages.
func goBuild(path, program string) *exec.Cmd {
	c := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path,
		program)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	return c
}

// python3 is an interpreter, and not one of the scripts that choose one by the environment.
var python3 = sync.OnceValues(func() (string, error) {
	out, err := exec.CommandContext(context.Background(), "python3", "-c",
		"import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(out)), err
})

// experiment is a configuration with its benchmarks in a directory of its own.
type experiment struct {
	t          *testing.T
	dir        string
	directory  string // NAME.krun
	iterations int
	executions int
	heap       string
	timeout    string
	output     string
	external   string            // path of the suite, when there is one
	python     string            // path of the interpreter
	benchmarks []string          // in order
	vm         map[string]string // of each benchmark
	extra      string            // further sections
	ready      *os.File          // the benchmark writes here when it has come to meet()
	release    *os.File          // and continues when something is written here
}

// good is a benchmark without faults.
const good = `void run_iter(int n) { for (volatile int i = 0; i < n; i++); }`

func newExperiment(t *testing.T) *experiment {
	t.Helper()
	runnertest.Compiler(t)
	must.Do(t, install())
	dir := t.TempDir()
	e := &experiment{
		t: t, dir: dir, directory: filepath.Join(dir, "test.krun"), iterations: 5, executions: 1,
		heap: "256MiB", timeout: "1m", output: "1MiB", vm: map[string]string{},
	}
	e.ready, e.release = e.pipe("ready"), e.pipe("release")
	return e
}

// goodExperiment has one benchmark without faults.
func goodExperiment(t *testing.T) *experiment {
	t.Helper()
	e := newExperiment(t)
	e.c("good", good)
	return e
}

func (e *experiment) must(err error) {
	e.t.Helper()
	must.Do(e.t, err)
}

// pipe makes a named pipe and opens it for both directions, so that neither its opening nor that of
// the benchmark waits.
func (e *experiment) pipe(name string) *os.File {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	e.must(syscall.Mkfifo(path, 0o600))
	f := must.Get(os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0))(e.t)
	e.t.Cleanup(func() { _ = f.Close() })
	return f
}

func (e *experiment) write(name, text string) string {
	e.t.Helper()
	path := filepath.Join(e.dir, name)
	e.must(os.MkdirAll(filepath.Dir(path), 0o755))
	e.must(os.WriteFile(path, []byte(text), 0o755))
	return path
}

func (e *experiment) add(name, vm string) {
	e.benchmarks = append(e.benchmarks, name)
	e.vm[name] = vm
}

// entry is the path of a benchmark's file.
func (e *experiment) entry(name string) string {
	return filepath.Join(e.dir, "benchmarks", name, map[string]string{"C": "bench.so",
		"Python": "bench.py"}[e.vm[name]])
}

// prelude of the benchmarks in C. meet tells the test that the benchmark has come that far, and
// waits to be released.
const prelude = `
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static int n; /* iterations begun */
static void meet(void)
{
	char path[PATH_MAX], c = 'x';
	int fd;
	snprintf(path, sizeof path, "%s/ready", getenv("E2E"));
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, &c, 1) != 1)
		exit(99);
	snprintf(path, sizeof path, "%s/release", getenv("E2E"));
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, &c, 1) != 1)
		exit(99);
}
`

// c adds a benchmark in C: the source of run_iter and what it needs.
func (e *experiment) c(name, source string) {
	e.t.Helper()
	e.add(name, "C")
	file := e.write(filepath.Join("benchmarks", name, "bench.c"), prelude+source+"\nvoid (*unused[])(void) "+
		"= {meet}; int *count = &n;\n")
	cc := exec.CommandContext(e.t.Context(), runnertest.Compiler(e.t), "-w", "-shared", "-fPIC", "-o",
		e.entry(name), file)
	if out, err := cc.CombinedOutput(); err != nil {
		e.t.Fatalf("%v\n%s", err, out)
	}
}

// py adds a benchmark in Python.
func (e *experiment) py(name, source string) {
	e.t.Helper()
	if e.python == "" {
		path, err := python3()
		if err != nil {
			e.t.Skipf("no Python 3: %v", err)
		}
		e.python = path
	}
	e.add(name, "Python")
	e.write(filepath.Join("benchmarks", name, "bench.py"), source)
}

// config is the text of the configuration.
func (e *experiment) config() string {
	var b strings.Builder
	used := map[string]bool{}
	var skip []string
	for _, name := range e.benchmarks {
		used[e.vm[name]] = true
	}
	for _, name := range e.benchmarks {
		for vm := range used {
			if vm != e.vm[name] {
				skip = append(skip, strconv.Quote(name+":"+vm+":*"))
			}
		}
	}
	fmt.Fprintf(&b, "[experiment]\niterations = %d\nexecutions = %d\nreboot = \"none\"\naccount = "+
		"\"caller\"\nskip = [%s]\n",
		e.iterations, e.executions, strings.Join(skip, ", "))
	fmt.Fprintf(&b, "[limits]\nheap = %q\ntimeout = %q\noutput = %q\n", e.heap, e.timeout, e.output)
	b.WriteString("[wait]\nstartup = \"0s\"\nsync = \"0s\"\n[temperature]\nbase_wait = " +
		"\"0s\"\n[counters]\nsources = [\"none\"]\n")
	vms := map[string]string{
		"C":        "runner = \"c\"\nvariants = [\"so\"]\n",
		"Python":   fmt.Sprintf("runner = \"python\"\npath = %q\nvariants = [\"py\"]\n", e.python),
		"External": fmt.Sprintf("runner = \"external\"\npath = %q\nvariants = [\"suite\"]\n", e.external),
	}
	for _, vm := range []string{"C", "Python", "External"} {
		if used[vm] {
			fmt.Fprintf(&b, "[vms.%s]\n%senv = { E2E = %q }\n", vm, vms[vm], e.dir)
		}
	}
	for _, v := range []struct{ vm, name, entry string }{{"C", "so", "bench.so"},
		{"Python", "py", "bench.py"}, {"External", "suite", ""}} {
		if used[v.vm] {
			fmt.Fprintf(&b, "[variants.%s]\nentry = %q\n", v.name, v.entry)
		}
	}
	b.WriteString("[benchmarks]\n")
	for _, name := range e.benchmarks {
		fmt.Fprintf(&b, "%s = { parameter = 1000 }\n", name)
	}
	b.WriteString("[controls]\n")
	for _, name := range []string{
		"smt", "frequency", "turbo", "tickless", "isolcpus", "perf_rate", "nmi_watchdog", "aslr",
		"overcommit", "apm", "malloc", "temperature",
	} {
		fmt.Fprintf(&b, "%s = \"off\"\n", name)
	}
	return b.String() + e.extra
}

// running is a running krund.
type running struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer // to be read when it has ended
	done           chan struct{}
	err            error // of its end
}

// ended is a krund that has ended.
type ended struct {
	code           int // -1 when a signal ended it
	stdout, stderr string
}

// start writes the configuration unless it is there, and starts `krund run`.
func (e *experiment) start(args ...string) *running {
	e.t.Helper()
	path := filepath.Join(e.dir, "test.toml")
	if _, err := os.Stat(path); err != nil {
		e.write("test.toml", e.config())
	}
	return startKrund(e.t, filepath.Join(scratch, "prefix"),
		append([]string{"run", "--directory", e.directory, path}, args...)...)
}

func startKrund(t *testing.T, prefix string, args ...string) *running {
	t.Helper()
	return startProgram(t, filepath.Join(prefix, "bin", "krund"), args...)
}

func startProgram(t *testing.T, program string, args ...string) *running {
	t.Helper()
	const hung = 5 * time.Minute // no test takes that long
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	t.Cleanup(cancel)
	r := &running{t: t, cmd: exec.CommandContext(ctx, program, args...), done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.WaitDelay = hung / 2 // a guard may outlive krund for a moment, and holds its standard error
	must.Do(t, r.cmd.Start())
	go func() {
		defer close(r.done)
		r.err = r.cmd.Wait()
	}()
	return r
}

func (r *running) signal(s os.Signal) {
	r.t.Helper()
	must.Do(r.t, r.cmd.Process.Signal(s))
}

func (r *running) wait() ended {
	r.t.Helper()
	var exit *exec.ExitError
	<-r.done
	if r.err != nil && !errors.As(r.err, &exit) && !errors.Is(r.err, exec.ErrWaitDelay) {
		r.t.Fatal(r.err)
	}
	return ended{r.cmd.ProcessState.ExitCode(), r.stdout.String(), r.stderr.String()}
}

// run is `krund run` to its end.
func (e *experiment) run(args ...string) ended {
	e.t.Helper()
	return e.start(args...).wait()
}

// want checks exit status and messages.
func (r ended) want(t *testing.T, code int, messages ...string) {
	t.Helper()
	must.Equal(t, r.code, code, "exit status", "stdout", r.stdout, "stderr", r.stderr)
	for _, message := range messages {
		must.Contain(t, r.stdout+r.stderr, message, "no message", "stdout", r.stdout, "stderr", r.stderr)
	}
}

// last checks the last line of standard error.
func (r ended) last(t *testing.T, parts ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	for _, part := range parts {
		must.Contain(t, lines[len(lines)-1], part, "the last line")
	}
}

// meet waits until the benchmark has come to meet(). When krund ends before, it never will.
func (e *experiment) meet(r *running) {
	e.t.Helper()
	met := make(chan error, 1)
	go func() {
		_, err := e.ready.Read(make([]byte, 1))
		met <- err
	}()
	select {
	case err := <-met:
		e.must(err)
	case <-r.done:
		e.t.Fatalf("krund ended before the benchmark called meet()\nstdout: %s\nstderr: %s",
			r.stdout.String(), r.stderr.String())
	}
}

// letGo releases the benchmark that waits in meet(), or the next one that gets there.
func (e *experiment) letGo() {
	e.t.Helper()
	must.Get(e.release.Write([]byte{'x'}))(e.t)
}

// flags are those of the slots, such as "CEO".
func (e *experiment) flags() string {
	e.t.Helper()
	s := must.Get(schedule.Open(durable.OS(), filepath.Join(e.directory, "schedule"), false))(e.t)
	defer s.Close()
	var flags strings.Builder
	for slot, err := range s.Slots() {
		e.must(err)
		flags.WriteByte(byte(slot.Flag))
	}
	return flags.String()
}

// records are all records. Each must be readable, and no slot may have two that count.
func (e *experiment) records() []results.Record {
	e.t.Helper()
	f := must.Get(directory.Open(durable.OS(), e.directory))(e.t)
	var list []results.Record
	counted := map[int]bool{}
	for r, err := range results.NewReader(durable.OS(), f.Results()).All() {
		e.must(err)
		must.Be(e.t, r.Outcome == results.Rerun || !counted[r.Slot], "slot", r.Slot,
			"has two records that count")
		counted[r.Slot] = r.Outcome != results.Rerun
		must.Be(e.t, r.Process.Findings != nil && r.Reasons != nil, "slot", r.Slot, "findings",
			r.Process.Findings, "reasons", r.Reasons, "null means unknown")
		// these tests keep the machine busy themselves, with other krunds beside each other
		r.Reasons = slices.DeleteFunc(r.Reasons, func(reason string) bool {
			return strings.HasPrefix(reason, results.BusyMachine)
		})
		list = append(list, r)
	}
	return list
}

// of is the one record of a benchmark.
func (e *experiment) of(benchmark string) results.Record {
	e.t.Helper()
	var found []results.Record
	for _, r := range e.records() {
		if r.Key.Benchmark == benchmark {
			found = append(found, r)
		}
	}
	must.Need(e.t, len(found) == 1, len(found), "records of", benchmark, "want one")
	return found[0]
}

// outcome checks the record of a benchmark: how it ended, how many iterations it has, what its
// reasons say.
func (e *experiment) outcome(benchmark string, outcome results.Outcome, iterations int,
	reasons ...string) results.Record {
	e.t.Helper()
	r := e.of(benchmark)
	if r.Outcome != outcome || len(r.WallNS) != iterations {
		e.t.Errorf("%s: %s with %d iterations, want %s with %d; reasons %q, stderr %q",
			benchmark, r.Outcome, len(r.WallNS), outcome, iterations, r.Reasons, r.Process.Stderr.Text)
	}
	text := strings.Join(r.Reasons, "\n")
	for _, reason := range reasons {
		must.Contain(e.t, text, reason, benchmark, "no reason", r.Reasons)
	}
	// Other tests that run meanwhile may keep the machine busy.
	busy := func(reason string) bool { return strings.HasPrefix(reason, results.BusyMachine) }
	if other := slices.DeleteFunc(slices.Clone(r.Reasons), busy); len(reasons) == 0 && len(other) > 0 {
		e.t.Errorf("%s: reasons %q, want none", benchmark, other)
	}
	return r
}
