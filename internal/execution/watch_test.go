package execution

import (
	"slices"
	"testing"

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
