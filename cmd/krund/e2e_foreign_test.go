//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
	"krund/runners/runnertest"
)

// TestKrunBenchmarks: benchmarks as they were written for Krun run unchanged.
func TestKrunBenchmarks(t *testing.T) {
	t.Run("Python 2", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		for name, path := range runnertest.Pythons(t) {
			if strings.HasPrefix(name, "CPython 2.7") {
				e.python = path
			}
		}
		if e.python == "" {
			t.Skip("no Python 2.7")
		}
		e.py("fannkuch", `import sys
EXPECT_CKSUM = 45
def run_iter(n):
    s = 0
    for i in xrange(10):
        s += i
    if s != EXPECT_CKSUM:
        print "bad checksum: %d vs %d" % (s, EXPECT_CKSUM)
        sys.exit(1)
`)
		e.py("wrong", `import sys
def run_iter(n):
    for i in xrange(3): pass
    print "bad checksum: %d vs %d" % (i, n)
    sys.exit(1)
`)
		e.run().want(t, exitFailed)
		e.outcome("fannkuch", results.Completed, 5)
		e.outcome("wrong", results.Error, 0, "exit status 1", "bad checksum: 2 vs 1000")
	})
	t.Run("C", func(t *testing.T) {
		t.Parallel()
		e := newExperiment(t)
		e.c("nbody", `
#define EXPECT_CKSUM 499500
void setup(void) {}
int run_iter(int n)
{
	unsigned long sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	if (sum != EXPECT_CKSUM) {
		fprintf(stderr, "bad checksum: %lu vs %d\n", sum, EXPECT_CKSUM);
		exit(EXIT_FAILURE);
	}
	return 0;
}`)
		e.run().want(t, exitOK)
		r := e.outcome("nbody", results.Completed, 5)
		must.Be(t, r.Parameter == 1000 && r.Key == (key.Key{Benchmark: "nbody", VM: "C", Variant: "so"}),
			"parameter", r.Parameter, r.Key)
	})
}

// TestExternalSuite: one program, several suites, distinguished by the benchmark's name that krund
// passes.
func TestExternalSuite(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.iterations = 3
	e.external = e.write("suite", `#!/bin/sh
none='"core_cycle_counts": [], "aperf_counts": [], "mperf_counts": []'
case "$1 $2 $3 $4" in
"times 3 1000 0") echo "{\"wallclock_times\": [5e-7, 2.5e-7, 0.000001001], $none}" ;;
"cores 3 1000 0") echo '{"wallclock_times": [1e-6, 2e-6, 3e-6], "core_cycle_counts": [[1, 2, 3], [4, 5, 18446744073709551615]],
	"aperf_counts": [[1, 1, 1], [2, 2, 2]], "mperf_counts": [[1, 1, 1], [2, 2, 2]]}' ;;
"short 3 1000 0") echo "{\"wallclock_times\": [0.5], $none}" ;;
"garbage 3 1000 0") echo "Segmentation fault (just kidding)" ;;
"directory 3 1000 0") echo "{\"wallclock_times\": [1e-6, 2e-6, $(($(wc -l <data)))e-6], $none}" ;;
"years 3 1000 0") echo "{\"wallclock_times\": [4.6e9, 4.6e9, 4.6e9], $none}" ;;
"nothing 3 1000 0") echo "{\"wallclock_times\": [0, 1e-6, 0], $none}" ;;
"fails 3 1000 0") echo "{\"wallclock_times\": [0.5, 0.25, 1], $none}"; echo "no VM" >&2; exit 9 ;;
*) exit 77 ;;
esac
`)
	for _, name := range []string{"times", "cores", "short", "garbage", "fails", "directory", "missing-case",
		"years", "nothing"} {
		e.add(name, "External")
	}
	e.write("benchmarks/directory/data", "1\n2\n3\n")
	e.run().want(t, exitFailed)
	r := e.outcome("directory", results.Completed, 3)
	must.Be(t, r.WallNS[2] == 3_000 && r.Process.Dir == filepath.Join(e.dir, "benchmarks/directory"), "times",
		r.WallNS, "in", r.Process.Dir)
	r = e.outcome("times", results.Completed, 3)
	must.Be(t, r.WallNS[2] == 1_001 && r.CounterSource == "external" && r.Library == nil && r.StartNS == nil,
		"times", r.WallNS, "counters", r.CounterSource, "library", r.Library, "starts", r.StartNS)
	r = e.outcome("cores", results.Completed, 3)
	must.Be(t, len(r.Columns) == 6 && r.Columns[3].Counts[2] == 1<<64-1 && *r.Columns[3].Core == 1,
		"columns", r.Columns)
	e.outcome("short", results.Error, 0, "wallclock_times has 1 numbers for 3 iterations")
	e.outcome("garbage", results.Error, 0, "the suite's output")
	e.outcome("fails", results.Error, 0, "exit status 9", "no VM")
	e.outcome("missing-case", results.Error, 0, "exit status 77")
	e.outcome("years", results.Error, 3, "the 3 iterations reportedly took 1.38e+10 s in total, but the "+
		"process lived for 0.")
	e.outcome("nothing", results.Completed, 3, "the time is 0 ns in 2 of 3 iterations, the first is 0")
}
