package execution

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// machine creates a directory that replaces the root of a machine.
func machine(t *testing.T, files map[string]string) sysroot.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	return sysroot.New(dir)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	must.Write(t, filepath.Join(dir, name), text)
}

const rapl = "/sys/class/powercap/"

// zone is a powercap zone whose counter wraps at a million joules.
func zone(id, name string, uj uint64) map[string]string {
	return map[string]string{
		rapl + id + "/name": name + "\n", rapl + id + "/max_energy_range_uj": "999999999999\n", rapl + id +
			"/energy_uj": fmt.Sprintln(uj),
	}
}

func TestEnergyInRecord(t *testing.T) {
	files := zone("intel-rapl:0", "package-0", 999_999_999_990)
	maps.Copy(files, zone("intel-rapl:0:1", "dram", 40))
	for _, name := range []string{"nbody:C:so", "nbody:Suite:none"} {
		root := machine(t, files)
		e := Executor{Installed: installed, Root: root, Runner: fake{run: exited(0),
			play: func(child.Command) {
				write(t, root.Path("/"), rapl+"intel-rapl:0/energy_uj", "90\n") // wrapped around
				write(t, root.Path("/"), rapl+"intel-rapl:0:1/energy_uj", "47\n")
			}}}
		m := must.Get(e.Execute(t.Context(), job(t, name)))(t)
		must.Be(t, len(m.Energy) == 2 && *m.Energy[0].UJ == 100 && m.Energy[0].Name == "package-0" &&
			*m.Energy[1].UJ == 7 && m.Energy[1].Zone == "intel-rapl:0:1", name, m.Energy)
	}
	m := execute(t, "nbody:C:so", fake{run: exited(0)})
	must.Be(t, len(m.Energy) == 0 || m.Energy[0].Zone != "", "on this machine", m.Energy)
}

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
	must.Be(t, len(m.Execution.Disturbed) == 2 &&
		strings.Contains(got, "core 0 ran below its set frequency") && strings.Contains(got, "2 times (SMI)"),
		"disturbed", m.Execution.Disturbed)
	must.Be(t, len(m.Frequencies) == 2 && *m.Frequencies[1].Core == 4 &&
		*m.Frequencies[1].Expected <= 0.754 && *m.Frequencies[1].Expected >= 0.752 &&
		m.Frequencies[1].Source == results.MeasuredRate, m.Frequencies)
}
