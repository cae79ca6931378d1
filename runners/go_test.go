package runners

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	out, err := c.CombinedOutput()
	must.Do(t, err, "go", args, out)
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
	cases := append(common("", 20, "3", "1x", "+1"),
		prints("prints", "print", "-42", 2, "-42\n-42\n"),
		prints("main thread", "thread", "1", 2, "true\ntrue\n"),
		checks("wrong"),
		raises("panic", ": the benchmark raised an exception in run_iter: panic: the third\n"),
		fails("null pointer", "nil", ExitException, "gocases/main.go:"),
		scriptCase{"no library", "", []string{"1"}, run{iterations: 1, env: []string{"KRUN_LIBRARY="}},
			expect{ExitLibrary, 0, libkrun.StateNew, "", "set KRUN_LIBRARY"}},
	)
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			test.run.argv = append([]string{program}, test.args...)
			test.run.env = append(test.run.env, "CASE="+test.source)
			test.run.do(t).check(t, test.want)
		})
	}
	testScriptLibraries(t, nil, program)
}

// TestGoBenchHostile: what a test binary prints beside its results is bounded, and a result is a
// number.
func TestGoBenchHostile(t *testing.T) {
	gobench := must.Get(filepath.Abs("suites/gobench"))(t)
	for script, complaint := range map[string]string{
		"yes 'BenchmarkX-2 1 5 ns/op' | head -n 300000":            "printed 300000 results of 3 iterations",
		"for i in 1 2 3; do echo 'BenchmarkX 1 0x10 ns/op'; done":  "printed 0 results of 3",
		"for i in 1 2 3; do echo 'BenchmarkX 1 5],[6 ns/op'; done": "printed 0 results of 3",
		"yes no | head -n 300000; echo why; exit 3":                "why",
		"echo 'gobench: exit status 0'; exit 4":                    "gobench: exit status 0",
	} {
		binary := filepath.Join(t.TempDir(), "x.test")
		must.Do(t, os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		r := run{argv: []string{gobench, binary, "BenchmarkX", "3", "1", "0"},
			env: []string{"PATH=/usr/bin:/bin"}, iterations: 1}
		e := r.do(t)
		must.Be(t, e.status != 0 && e.stdout == "" && len(e.stderr) < 7000 &&
			strings.Contains(e.stderr, complaint), script, e.status, len(e.stdout), e.stderr)
	}
}

// TestGoBench runs a benchmark of package testing as an external suite.
func TestGoBench(t *testing.T) {
	gobench := must.Get(filepath.Abs("suites/gobench"))(t)
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
		{"BenchmarkNested/inner", "1", 0, ""},
		{"BenchmarkNested/inner#01", "7", 0, ""},
		{"BenchmarkNested/a(b|c)=[x/1", "1", 0, ""},
		{`BenchmarkNested/\d+`, "1", 0, ""},
		{"BenchmarkNested/.*", "1", 1, "BenchmarkNested/.* printed 0 results of 5 iterations"},
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
