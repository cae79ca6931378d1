package execution

import (
	"slices"
	"testing"

	"krund/internal/execution/child"
	"krund/rig/must"
)

// TestWatcherPlace: where the watcher runs, and what is left for the benchmark.
func TestWatcherPlace(t *testing.T) {
	for _, test := range []struct {
		name, online, nohz string
		benchmark, own     []int
		narrow             bool
		cpu                int
		rest               []int
		none               bool
	}{
		{"shielded", "0-3\n", "", []int{1, 2, 3}, []int{0}, true, 0, []int{1, 2, 3}, false},
		{"shielded, only to show", "0-3\n", "", []int{2, 3}, []int{0, 1}, false, 0, []int{2, 3}, false},
		{"krund itself is confined", "0-3\n", "", nil, []int{1}, false, 0, nil, false},
		{"tickless ones last", "0-3\n", "0-1\n", []int{3}, []int{0, 1, 2}, false, 2, []int{3}, false},
		{"only tickless ones", "0-3\n", "1-3\n", []int{0, 1}, []int{0, 1}, true, 2, []int{0, 1}, false},
		{"none is left, only to show", "0-3\n", "", nil, []int{0, 1, 2, 3}, false, 0, nil, true},
		{"it gives up one", "0-3\n", "", nil, []int{0, 1, 2, 3}, true, 0, []int{1, 2, 3}, false},
		{"it keeps tickless ones", "0-3\n", "0-2\n", nil, []int{0, 1, 2, 3}, true, 3, []int{0, 1, 2}, false},
		{"one CPU", "0\n", "", nil, []int{0}, true, 0, nil, true},
		{"unknown", "0-3\n", "", nil, nil, true, 0, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"/sys/devices/system/cpu/online": test.online}
			if test.nohz != "" {
				files["/sys/devices/system/cpu/nohz_full"] = test.nohz
			}
			got, ok := watcherPlace(machine(t, files), test.benchmark, test.own, test.narrow)
			must.Be(t, ok != test.none && got.cpu == test.cpu && slices.Equal(got.benchmark, test.rest), got,
				ok)
		})
	}
}

func TestHousekeeping(t *testing.T) {
	for _, test := range []struct {
		name, online, nohz string
		benchmark, want    []int
	}{
		{"nothing is set apart", "0-3\n", "", nil, nil},
		{"built but unused", "0-3\n", "(null)\n", nil, nil},
		{"tickless", "0-3\n", "1-3\n", nil, []int{0}},
		{"tickless in the middle", "0-3\n", "1-2\n", nil, []int{0, 3}},
		{"tickless and shielded", "0-3\n", "2-3\n", []int{1, 2, 3}, []int{0}},
		{"shielded only", "0-3\n", "", []int{1, 2, 3}, []int{0}},
		{"none is left", "0-3\n", "0-3\n", nil, nil},
		{"the last one is the benchmark's", "0-3\n", "1-3\n", []int{0}, nil},
		{"tickless CPUs that are offline", "0-1\n", "2-3\n", nil, nil},
		{"unreadable", "x\n", "1-3\n", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"/sys/devices/system/cpu/online": test.online}
			if test.nohz != "" {
				files["/sys/devices/system/cpu/nohz_full"] = test.nohz
			}
			must.EqualList(t, housekeeping(machine(t, files), test.benchmark), test.want, "CPU")
		})
	}
}

// TestDaemonLeavesTheBenchmarksCPUs: every run, including that of an external suite, moves krund to
// its own processors.
func TestDaemonLeavesTheBenchmarksCPUs(t *testing.T) {
	root := machine(t, map[string]string{"/sys/devices/system/cpu/online": "0-3\n",
		"/sys/devices/system/cpu/nohz_full": "1-3\n"})
	for _, name := range []string{"nbody:C:so", "nbody:Suite:none"} {
		var seen child.Command
		e := Executor{Runner: fake{run: exited(0), seen: &seen}, Installed: installed, Root: root}
		must.Get(e.Execute(t.Context(), job(t, name)))(t)
		must.Be(t, slices.Equal(seen.DaemonCPUs, []int{0}) && seen.CPUs == nil, name, "krund on CPU",
			seen.DaemonCPUs, "the benchmark on", seen.CPUs)
	}
}
