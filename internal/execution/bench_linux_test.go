package execution

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/runners/runnertest"
)

// BenchmarkCounters reports what counters add to each iteration of each runner: "measured" is the
// wall time of an iteration with an empty run_iter, "between" the time from the end of an iteration
// to the start of the next, in which the counters are read. Both are medians of the second half of
// an execution, in nanoseconds. The benchmark runs on CPU 0; "local" and "remote" are the per-core
// sources with only that core and with only another core.
func BenchmarkCounters(b *testing.B) {
	sources := []struct {
		source, scope string
		cores         []int
	}{
		{"none", config.ScopePerCore, nil}, {"rdpmc", config.ScopeTask, nil}, {"perf", config.ScopeTask, nil},
		{"perf", config.ScopePerCore, []int{0}}, {"perf", config.ScopePerCore, []int{1}},
		{"perf", config.ScopePerCore, nil}, {"perf", config.ScopeExecution, nil},
		{"msr", config.ScopePerCore, []int{0}}, {"msr", config.ScopePerCore, []int{1}},
		{"msr", config.ScopePerCore, nil}, {"msr", config.ScopeExecution, nil},
	}
	pythons := runnertest.Pythons(b)
	for _, s := range sources {
		name := s.source + "/" + s.scope
		if s.cores != nil {
			name += fmt.Sprintf("/core%d", s.cores[0])
		}
		b.Run(name+"/C", func(b *testing.B) {
			e, j := live(b, nativeVM, "bench.c", "void run_iter(int n) { (void)n; }\n")
			e.cores = s.cores
			timeIterations(b, e, j, s.source, s.scope)
		})
		// two are enough: the newest CPython and PyPy, if installed
		for _, python := range slices.Sorted(maps.Keys(pythons))[max(0, len(pythons)-2):] {
			b.Run(name+"/"+python, func(b *testing.B) {
				e, j := live(b, config.VM{Name: "v", Runner: config.RunnerPython, Path: pythons[python]},
					"bench.py", "def run_iter(n):\n    pass\n")
				e.cores, j.Program = s.cores, pythons[python]
				timeIterations(b, e, j, s.source, s.scope)
			})
		}
	}
}

func timeIterations(b *testing.B, e Executor, j Job, source, scope string) {
	b.Helper()
	j.Iterations, j.CPUs = 20_000, []int{0}
	j.Counters = config.Counters{Sources: []string{source, "none"}, Scope: scope}
	for b.Loop() {
		m := mustExecute(b, e, j)
		if m.CounterSource != source {
			b.Skip(m.CounterReason)
		}
		if len(m.Execution.Series) > 0 || len(m.WallNS) != j.Iterations {
			b.Fatalf("%d iterations; %s", len(m.WallNS), strings.Join(m.Execution.Series, "; "))
		}
		between := make([]int64, j.Iterations-1)
		for i := range between {
			between[i] = m.StartNS[i+1] - m.StartNS[i] - m.WallNS[i]
		}
		b.ReportMetric(float64(median(m.WallNS[j.Iterations/2:])), "measured-ns")
		b.ReportMetric(float64(median(between[j.Iterations/2:])), "between-ns")
	}
	b.ReportMetric(0, "ns/op") // mostly the start-up of the VM
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
