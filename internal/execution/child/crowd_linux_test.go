package child

import (
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestCrowdOfStrays: a benchmark that leaves thousands of processes which cannot be killed does not
// fill the record with them.
func TestCrowdOfStrays(t *testing.T) {
	s := &execution{tree: &processTree{reaped: true}, remarks: []string{"a remark"}}
	for pid := range 4096 {
		s.tree.unkillable = append(s.tree.unkillable, proc{PID: 4_000_000 + pid, Name: "sh", State: 'D'})
	}
	list := s.findings(Run{Process: results.Process{Strays: 4096}}, report{})
	all := strings.Join(list, "\n")
	must.Be(t, len(list) <= 100 && len(all) <= 20_000, len(list), "findings", len(all), "bytes")
	for _, want := range []string{"a remark", "4096 further processes", "process 4000000 (sh)",
		"4086 more processes"} {
		must.Contain(t, all, want)
	}
}
