package runners

import (
	"os/exec"
	"path/filepath"
	"testing"

	libkrun "krund/cgo"
	"krund/rig/must"
	"krund/runners/external"
)

// goTool runs the go command.
func goTool(t testing.TB, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Env = append(c.Environ(), "CGO_ENABLED=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
}

// buildGo builds the benchmark of testdata/gocases.
func buildGo(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bench")
	goTool(t, "build", "-ldflags=-s -w", "-o", program, "./testdata/gocases")
	return program
}

func TestGo(t *testing.T) {
	needBuilt(t)
	program := buildGo(t)
	ready, done, fresh := libkrun.StateReady, libkrun.StateDone, libkrun.StateNew
	for _, test := range []struct {
		name string
		args []string
		run  run
		want expect
	}{
		{"measures", []string{"3"}, run{iterations: 20}, expect{0, 20, done, "", ""}},
		{"stopped", []string{"3"}, run{iterations: 20, stopped: true}, expect{0, 0, done, "", ""}},
		{"print", []string{"-42"}, run{iterations: 2}, expect{0, 2, done, "-42\n-42\n", ""}},
		{"thread", []string{"1"}, run{iterations: 2}, expect{0, 2, done, "true\ntrue\n", ""}},
		{"wrong", []string{"1"}, run{iterations: 10}, expect{1, 3, ready, "bad checksum\n", ""}},
		{"panic", []string{"1"}, run{iterations: 10}, expect{ExitException, 2, ready, "",
			": the benchmark raised an exception in run_iter: panic: the third\n"}},
		{"nil", []string{"1"}, run{iterations: 10}, expect{ExitException, 0, ready, "", "gocases/main.go:"}},
		{"no parameter", nil, run{iterations: 1}, expect{ExitUsage, 0, fresh, "", "usage: "}},
		{"two parameters", []string{"1", "2"}, run{iterations: 1},
			expect{ExitUsage, 0, fresh, "", "usage: "}},
		{"text as parameter", []string{"1x"}, run{iterations: 1}, expect{ExitUsage, 0, fresh, "", "usage: "}},
		{"plus sign", []string{"+1"}, run{iterations: 1}, expect{ExitUsage, 0, fresh, "", "usage: "}},
		{"no buffer", []string{"1"}, run{iterations: 1, noBuffer: true},
			expect{ExitInit, 0, fresh, "", "krun_init: the descriptor"}},
		{"no library", []string{"1"}, run{iterations: 1, env: []string{"KRUN_LIBRARY="}},
			expect{ExitLibrary, 0, fresh, "", "set KRUN_LIBRARY"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run.argv = append([]string{program}, test.args...)
			switch test.name {
			case "print", "thread", "wrong", "panic", "nil":
				test.run.env = []string{"CASE=" + test.name}
			}
			test.run.do(t).check(t, test.want)
		})
	}
	testScriptLibraries(t, nil, program)
	testScriptRefused(t, nil, program)
}

// TestGoBench runs a benchmark of package testing as an external suite.
func TestGoBench(t *testing.T) {
	gobench := must.Get(filepath.Abs("external/gobench"))(t)
	binary := filepath.Join(t.TempDir(), "bench.test")
	goTool(t, "test", "-c", "-o", binary, "./testdata/gobench")
	for _, test := range []struct {
		benchmark string
		parameter string
		status    int
		complaint string // a part of stderr
	}{
		{"BenchmarkN", "1", 0, ""},
		{"BenchmarkN", "1000", 0, ""},
		{"BenchmarkFails", "1", 1, "wrong checksum"},
		{"BenchmarkNested", "1", 1, "gobench: BenchmarkNested printed 0 results of 5 iterations"},
		{"BenchmarkNowhere", "1", 1, "gobench: BenchmarkNowhere printed 0 results of 5 iterations"},
	} {
		t.Run(test.benchmark+" "+test.parameter, func(t *testing.T) {
			r := run{argv: []string{gobench, binary, test.benchmark, "5", test.parameter, "0"},
				env: []string{"PATH=/usr/bin:/bin"}, iterations: 1}
			e := r.do(t)
			if test.status != 0 {
				e.check(t, expect{test.status, 0, libkrun.StateNew, "", test.complaint})
				return
			}
			reader := external.NewReader(5)
			must.Get(reader.Write([]byte(e.stdout)))(t)
			result, err := reader.Result()
			must.Need(t, err == nil && e.status == 0, "status", e.status, err, e.stdout, e.stderr)
			for i, ns := range result.WallNS {
				must.Be(t, ns > 0, "iteration", i, "took", ns, "ns")
			}
		})
	}
}
