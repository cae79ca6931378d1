package verdict

import (
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestChanges: which counts of the machine show throttling. The sources are in kindOfCount: Linux
// 6.12, arch/x86/kernel/irq.c:603, drivers/thermal/intel/therm_throt.c:655-692 (the thermal vector
// serves HWP, thresholds and HFI too), arch/x86/kernel/cpu/mce/threshold.c:27.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after uint64
		want          string
	}{
		{"cpu2/core_throttle_count", 0, 3, "the processor was throttled: cpu2/core_throttle_count: 0 -> 3"},
		{"cpu2/core_throttle_count", 3, 3, ""},
		{"cpu0/package_power_limit_count", 7, 8,
			"the processor was throttled: cpu0/package_power_limit_count: 7 -> 8"},
		// thermald's thresholds and HFI updates of a healthy hybrid processor
		{"interrupts/TRM", 100, 160, ""},
		{"interrupts/THR", 0, 1, "the hardware corrected errors: interrupts/THR: 0 -> 1"},
		{"interrupts/MCE", 0, 1, "the hardware reported errors: interrupts/MCE: 0 -> 1"},
		{"edac/mc0/ce_count", 1, 2, "the hardware corrected errors: edac/mc0/ce_count: 1 -> 2"},
		{"edac/mc0/ue_count", 1, 2, "the hardware reported errors: edac/mc0/ue_count: 1 -> 2"},
		// the graphics of a healthy processor limit the cores
		{"cpu0/core cross-domain limit (now)", 1, 1, ""},
		{"cpu0/core current limit (log)", 0, 1, ""},
		{"cpu0/package power limit (log)", 0, 1,
			"the processor was throttled: cpu0/package power limit (log): 0 -> 1"},
		{"cpu0/package power limit (log)", 1, 1, ""}, // sticky: not known whether it happened again
		{"cpu0/package power limit (now)", 1, 0, ""},
		{"cpu0/package power limit (now)", 1, 1,
			"the processor was throttled: cpu0/package power limit (now): 1 -> 1"},
	} {
		list := Changes(results.Throttle{
			Before: []results.Count{{Name: "z", Count: 1}, {Name: c.name, Count: c.before}},
			After:  []results.Count{{Name: "z", Count: 1}, {Name: c.name, Count: c.after}},
		})
		got := ""
		if len(list) > 0 {
			got = list[0].String()
		}
		must.Be(t, got == c.want && len(list) <= 1, c.name, "from", c.before, c.after, list, c.want)
	}
	appeared := Changes(results.Throttle{After: []results.Count{{Name: "b", Count: 2},
		{Name: "a", Count: 1}}})
	must.Be(t, len(appeared) == 2 && appeared[0].Name == "a" && appeared[1].Before == 0,
		"counts that were missing before", appeared)
}
