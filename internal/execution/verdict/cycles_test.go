package verdict

import (
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestJudgeCycles: an arm64 core held at 2.4 GHz that runs the last part of the iterations at half
// of it; with the clock known by a frequency driver, and without one.
func TestJudgeCycles(t *testing.T) {
	const n = 100
	core, khz := 1, int64(2_400_000)
	held := []results.Frequency{{Core: &core, HeldKHz: &khz}}
	run := func(slow int) CounterRun {
		r := CounterRun{Cores: []CoreCounts{{Core: 0}, {Core: core}}}
		for i := range n {
			hz := uint64(2_400_000_000)
			if i >= n-slow {
				hz /= 2
			}
			r.StartNS, r.WallNS = append(r.StartNS, int64(i)*10_000_000), append(r.WallNS, 10_000_000)
			r.Cores[0].Cycles = append(r.Cores[0].Cycles, 1000)
			r.Cores[1].Cycles = append(r.Cores[1].Cycles, hz/100)
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		slow  int
		known []results.Frequency
		want  bool
	}{
		{"throttled", 40, held, true}, {"throttled, no driver", 40, nil, true},
		{"steady", 0, held, false}, {"steady, no driver", 0, nil, false},
		{"a few waits", 4, held, false}, {"mostly waiting", 60, held, false},
	} {
		got := JudgeCycles(run(tt.slow), tt.known, DefaultTolerance)
		must.Be(t, (got != "") == tt.want && (got == "" || strings.Contains(got, "50 % fewer cycles")),
			tt.name, got)
	}
	x86 := run(40)
	x86.Cores[1].APERF, x86.Cores[1].MPERF = x86.Cores[1].Cycles, x86.Cores[1].Cycles
	must.Equal(t, JudgeCycles(x86, held, DefaultTolerance), "", "with APERF and MPERF")
}
