package execution

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"krund/internal/execution/child"
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
		if len(m.Energy) != 2 || *m.Energy[0].UJ != 100 || m.Energy[0].Name != "package-0" ||
			*m.Energy[1].UJ != 7 || m.Energy[1].Zone != "intel-rapl:0:1" {
			t.Errorf("%s: %+v", name, m.Energy)
		}
	}
	m := execute(t, "nbody:C:so", fake{run: exited(0)})
	must.Be(t, len(m.Energy) == 0 || m.Energy[0].Zone != "", "on this machine", m.Energy)
}
