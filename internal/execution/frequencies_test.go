package execution

import (
	"strings"
	"testing"

	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
)

// TestFrequencies: what is known about the cores goes into the verdict and into the record. The
// efficient core 4 is held at 2.4 GHz while MPERF counts at 3.187 GHz (Linux 6.12,
// drivers/cpufreq/intel_pstate.c:949-953), core 0 is throttled.
func TestFrequencies(t *testing.T) {
	zero, four := 0, 4
	rate, held0, held4 := 3.187e9, int64(3200000), int64(2400000)
	counter := func(name string, core *int, n uint64) results.Column {
		return results.Column{Name: name, Kind: results.KindCounter, Core: core, Counts: []uint64{n}}
	}
	m := Measured{StartNS: []int64{0}, WallNS: []int64{1e9}, Columns: []results.Column{
		counter("aperf", &zero, 2.9e9), counter("mperf", &zero, 3.187e9), counter("smi", &zero, 2),
		counter("aperf", &four, 2.4e9), counter("mperf", &four, 3.187e9), counter("smi", &four, 2),
	}}
	m.judgeCounters(Job{Verdict: config.Verdict{RatioTolerance: 0.03}, Frequencies: []results.Frequency{
		{Core: &zero, HeldKHz: &held0, MPERFHz: &rate}, {Core: &four, HeldKHz: &held4, MPERFHz: &rate},
	}})
	got := strings.Join(m.Execution.Disturbed, "\n")
	if len(m.Execution.Disturbed) != 2 || !strings.Contains(got, "core 0 ran below its set frequency") ||
		!strings.Contains(got, "2 times (SMI)") {
		t.Errorf("disturbed %q", m.Execution.Disturbed)
	}
	if len(m.Frequencies) != 2 || *m.Frequencies[1].Core != 4 || *m.Frequencies[1].Expected > 0.754 ||
		*m.Frequencies[1].Expected < 0.752 || m.Frequencies[1].Source != results.MeasuredRate {
		t.Errorf("%+v", m.Frequencies)
	}
}
