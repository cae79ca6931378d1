package execution

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// These tests run real processes with the real runners and libkrun.

// scratch is the directory where libkrun and the runners are built. TestMain creates and removes
// it.
var scratch string

func TestMain(m *testing.M) {
	child.Stage() // this program acts as krund for internal/execution/child: it starts the benchmark
	os.Exit(inScratch(m.Run))
}

func inScratch(run func() int) int {
	dir, err := os.MkdirTemp("", "krund-pexec-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		_ = os.RemoveAll(dir)
		_ = child.RemoveGroup(group()) // it may not exist
	}()
	scratch = dir
	return run()
}

// group is the cgroup of this test's benchmarks.
func group() string { return fmt.Sprintf("krund-pexec-%d", os.Getpid()) }

var build = sync.OnceValue(func() error {
	out, err := exec.CommandContext(context.Background(), "make", "--silent", "-C", "../../runners",
		"install", "BUILD="+scratch, "INTO="+filepath.Join(scratch, "libexec")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the runners: %w\n%s", err, out)
	}
	return nil
})

// live returns a job and an executor for one benchmark file.
func live(t testing.TB, vm config.VM, file, source string) (Executor, Job) {
	t.Helper()
	must.Do(t, build())
	path := filepath.Join(t.TempDir(), file)
	must.Do(t, os.WriteFile(path, []byte(source), 0o755))
	if strings.HasSuffix(path, ".c") {
		path = compile(t, path)
	}
	e := Executor{Runner: child.Runner{}, Installed: Installed{
		Runners: filepath.Join(scratch, "libexec"),
		Library: filepath.Join(scratch, "lib/libkrun.so"), Cgroup: group(), CallerName: "ann",
		CallerHome: "/",
	}}
	j := Job{
		Key: key.Key{Benchmark: "b", VM: "v", Variant: "x"}, VM: vm, Entry: path, Benchmark: "b",
		Parameter: 3, Iterations: 6,
		Limits:   config.Limits{Heap: 1 << 30, Stack: 8 << 20, Output: 1 << 16, Timeout: time.Minute},
		Counters: config.Counters{Sources: []string{"none"}},
	}
	return e, j
}

// compile compiles a C benchmark and returns its path.
func compile(t testing.TB, path string) string {
	t.Helper()
	file := strings.TrimSuffix(path, ".c") + ".so"
	out, err := exec.CommandContext(t.Context(), runnertest.Compiler(t), "-w", "-shared", "-fPIC", "-pthread",
		"-o", file, path).CombinedOutput()
	must.Do(t, err, out)
	return file
}

func mustExecute(t testing.TB, e Executor, j Job) Measured {
	t.Helper()
	m := must.Get(e.Execute(t.Context(), j))(t)
	must.Need(t, m.Process.NotStarted == nil, "not started", m.Process.NotStarted)
	return m
}

var nativeVM = config.VM{Name: "v", Runner: config.RunnerC}

func TestLiveC(t *testing.T) {
	e, j := live(t, nativeVM, "bench.c", `#include <stdio.h>
		extern char **environ;
		void run_iter(int p) { static int n; if (n++ == 0) { for (char **v = environ; *v; v++) puts(*v); printf("p=%d\n", p); } }`)
	m := mustExecute(t, e, j)
	wantSeries(t, m, 6)
	s := m.Startup
	must.Be(t, s.ExecNS != nil && s.InitNS != nil && s.FirstNS != nil && s.DoneNS != nil &&
		slices.IsSorted([]int64{*s.ExecNS, *s.InitNS, *s.FirstNS, m.StartNS[5], *s.DoneNS}) &&
		m.StartNS[0] == *s.FirstNS, "startup", s, "starts", m.StartNS)
	must.Equal(t, m.Process.Stdout.Text, strings.Join(m.Process.Env, "\n")+"\np=3\n", "the benchmark saw")
	if m.Library.State != "done" || *m.Process.Exit != 0 ||
		m.Process.EnvBytes != child.EnvBytes(m.Process.Env) {
		t.Errorf("state %s, exit %d, environment of %d bytes", m.Library.State, *m.Process.Exit,
			m.Process.EnvBytes)
	}
}
