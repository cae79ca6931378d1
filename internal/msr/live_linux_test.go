package msr

import (
	"testing"
	"krund/internal/sysroot"
)

func TestShow(t *testing.T) {
	for _, scope := range []string{PerCore, Task, Execution} {
		for _, f := range Probe(t.Context(), sysroot.New("/"), Want{Sources: []string{Perf, MSR, None}, Scope: scope}) {
			t.Log(f)
		}
	}
}
