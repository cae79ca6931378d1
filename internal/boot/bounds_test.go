package boot

import (
	"strings"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/internal/execution"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestWhatABenchmarkLeavesIsBounded: neither the record nor the mails grow with what a benchmark
// leaves behind.
func TestWhatABenchmarkLeavesIsBounded(t *testing.T) {
	cfg := parse(t, experimentText("executions = 1\nreboot = \"none\""))
	s, fsys := newSimulated(t), crashfs.New("/lab")
	s.outcome = func(j execution.Job, boot int) execution.Measured {
		m := failed(j, boot)
		for range 4096 {
			m.Process.Findings = append(m.Process.Findings,
				"process 4711 (sh) of the benchmark cannot be killed: state D")
			m.Execution.Series = append(m.Execution.Series, "a reason of its own")
		}
		return m
	}
	s.oneBoot(cfg, fsys)
	records := 0
	for r, err := range results.NewReader(fsys, dir+"/results").All() {
		must.Do(t, err)
		records++
		n := len(strings.Join(append(r.Process.Findings, r.Reasons...), "\n"))
		must.Be(t, n <= 200_000, "record", r.Slot, "-", r.Attempt, "has", n, "bytes of sentences")
	}
	must.Be(t, records != 0, "nothing was stored")
	for _, text := range s.told {
		must.Be(t, len(text) <= 100_000, "a message of", len(text), "bytes", text)
	}
}
