package runners

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// built is the directory of the built runners, or "" if they could not be built, for the reason in
// notBuilt.
var built, notBuilt string

// TestMain builds the runners once for all tests.
func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "krun-runners-")
	if err != nil {
		notBuilt = err.Error()
		return m.Run()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := runnertest.CopyRunners(dir, "../build"); err != nil {
		notBuilt = err.Error()
		return m.Run()
	}
	out, err := exec.CommandContext(context.Background(), "make", "--silent", "build",
		"BUILD="+dir).CombinedOutput()
	if err != nil {
		notBuilt = fmt.Sprintf("make build: %v\n%s", err, out)
	} else {
		built = dir
	}
	return m.Run()
}

// needBuilt skips a test if there is no C compiler, and fails it if a compiler could not build the
// runners.
func needBuilt(t *testing.T) {
	t.Helper()
	runnertest.Compiler(t)
	must.Need(t, built != "", notBuilt)
}

// run is one process execution as krund starts it.
type run struct {
	argv       []string
	dir        string // the working directory, "" for an empty one
	iterations int
	stopped    bool     // the stop flag is set before the start
	env        []string // added to the environment
	noBuffer   bool     // the variable names a descriptor that is not there
	instrument string   // the level of instrumentation, "" for none
}

// ended is the result of an execution.
type ended struct {
	status         int
	stdout, stderr string
	series         libkrun.Series
}

func (r run) do(t *testing.T) ended {
	t.Helper()
	spec := libkrun.Spec{Iterations: r.iterations, UserColumns: 16}
	if r.instrument == "events" {
		spec.Events = 1 << 12
	}
	buffer := must.Get(libkrun.Create(spec))(t)
	defer func() { _ = buffer.Close() }()
	if r.stopped {
		must.Do(t, buffer.Stop())
	}
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), r.argv[0], r.argv[1:]...)
	c.Dir = r.dir
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	c.Env = append([]string{"KRUN_BUFFER_FD=3", "KRUN_LIBRARY=" + filepath.Join(built, "lib", "libkrun.so")},
		r.env...)
	if r.instrument != "" {
		c.Env = append(c.Env, "KRUN_INSTRUMENT="+r.instrument)
	}
	c.Stdout, c.Stderr = &stdout, &stderr
	if !r.noBuffer {
		c.ExtraFiles = []*os.File{buffer.File()}
	}
	var exit *exec.ExitError
	err := c.Run()
	must.Need(t, err == nil || errors.As(err, &exit), err)
	series := must.Get(buffer.Read())(t)
	must.Be(t, len(series.Findings) <= 0, "findings", series.Findings)
	must.Be(t, series.Pid == 0 || series.Pid == c.Process.Pid, "process", series.Pid, "attached, started",
		c.Process.Pid)
	return ended{c.ProcessState.ExitCode(), stdout.String(), stderr.String(), series}
}

// expect is the expected result of a test.
type expect struct {
	status int
	done   int
	state  libkrun.State
	stdout string // the whole of it
	stderr string // a part of it
}

func (e ended) check(t *testing.T, want expect) {
	t.Helper()
	must.Be(t, e.status == want.status && e.series.Done == want.done && e.series.State == want.state,
		"status", e.status, e.series.Done, "iterations, state", e.series.State, want.status, want.done,
		want.state, "stdout", e.stdout, "stderr", e.stderr)
	must.Equal(t, e.stdout, want.stdout, "stdout")
	must.Be(t, strings.Contains(e.stderr, want.stderr) && (want.stderr != "" || e.stderr == ""), "stderr",
		e.stderr, "want", want.stderr, "in it")
}

// write creates a file in a new directory and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestCommandFailure(t *testing.T) {
	const words = "runner: the command ended with exit status 3"
	for _, test := range []struct {
		status      int
		words, want string
	}{
		{ExitCommand, words, "the command ended with exit status 3"},
		{ExitBenchmark, "runner: cannot start x: No such file", "cannot start x: No such file"},
		{ExitCommand, "something else", ""}, {ExitUsage, words, ""}, {0, words, ""},
	} {
		got, ok := CommandFailure(test.status, test.words)
		must.Be(t, ok == (test.want != "") && (!ok || got == test.want), test.status, test.words, got, ok)
	}
}

func TestExplain(t *testing.T) {
	seen := make(map[string]int)
	for _, status := range []int{ExitUsage, ExitNoEntry, ExitBenchmark, ExitLibrary, ExitException, ExitInit,
		ExitMeasure} {
		text := Explain(status)
		other, ok := seen[text]
		must.Be(t, text != "" && !ok, "status", status, text, "as", other)
		seen[text] = status
	}
	for _, status := range []int{0, 1, 2, 127, 139} {
		must.Equal(t, Explain(status), "", "status", "is not a runner's, but explained as")
	}
}
