package control

import (
	"fmt"
	"path/filepath"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestPlacementOfManyCPUs: 512 of them in 8 nodes, with 16 that share a cache. The first node has
// one CPU less, as the lowest is the system's.
func TestPlacementOfManyCPUs(t *testing.T) {
	files := texts{cpuDir + "online": "0-511"}
	for cpu := range 512 {
		first := cpu / 16 * 16
		files[fmt.Sprintf("%scpu%d/cache/index3/shared_cpu_list", cpuDir, cpu)] = fmt.Sprintf("%d-%d", first,
			first+15)
	}
	for node := range 8 {
		files[fmt.Sprintf("/sys/devices/system/node/node%d/cpulist", node)] = fmt.Sprintf("%d-%d", 64*node,
			64*node+63)
	}
	files["/sys/devices/system/node/node8/cpulist"] = "\n" // memory without processors
	dir := t.TempDir()
	for name, text := range files {
		must.Write(t, filepath.Join(dir, name), text)
	}
	m := &Machine{Host: host.Host{Root: sysroot.New(dir)}}
	f := placement.control(Defaults()).Check(t.Context(), m)
	must.Be(t, f.Wanted == "CPU 64-79" && f.Found == "CPU 0-511 of 8 memory nodes, 32 last-level caches", f)
}

// TestPlacement: the default set of each kind of machine; off and warn bind nothing, and warn says
// when a benchmark may run on several kinds of processors.
func TestPlacement(t *testing.T) {
	for _, tt := range []struct{ tree, bound, found string }{
		{"more/epyc-nps4", "2-3", "CPU 0-15 of 8 memory nodes, 8 last-level caches"},
		{"more/intel-lpe", "1-3", "CPU 0-9 of 3 core kinds"},
		{"intel-hybrid", "0-1", "CPU 0-3 of 2 core kinds"}, // one performance core is too few
		{"more/graviton", "1-3", "CPU 0-3"},
		{"more/container", "", "CPU 2-3"},
		{"kvm-guest", "", "CPU 0-1"},
	} {
		m, _ := fakeMachine(t, tt.tree)
		r := Defaults()
		f := placement.control(r).Check(t.Context(), m)
		must.Be(t, f.Status == setting.StatusOK && f.Found == tt.found, tt.tree, f)
		must.Equal(t, Placement(m, r, CheckAll(t.Context(), m, r)).CPUs.String(), tt.bound, tt.tree)
		r = under(r, setting.Warn, "placement")
		f = placement.control(r).Check(t.Context(), m)
		must.Be(t, (f.Status == setting.StatusOK) == (tt.bound == ""), tt.tree, f)
		must.Equal(t, Placement(m, r, nil).CPUs.String(), "", tt.tree)
		r = under(under(r, setting.Apply, "shield"), setting.Apply, "placement")
		f = placement.control(r).Check(t.Context(), m)
		must.Be(t, (f.Status == setting.StatusCannot) == (tt.tree == "more/epyc-nps4"), "with a shield",
			tt.tree, f)
	}
}
