package probe

import (
	"slices"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestPowerLimits: the files and names of drivers/powercap/intel_rapl_common.c (pl_names, Linux
// 6.12:110), with the values of a desktop processor.
func TestPowerLimits(t *testing.T) {
	m, dir := machine(t, "intel-acpi-cpufreq")
	limits := ReadPowerLimits(m.Root)
	must.Be(t, limits == nil && checkPowerLimits(limits).Found == "none", "without files", limits)
	const zone = "sys/class/powercap/intel-rapl:0/"
	for file, text := range map[string]string{
		"name": "package-0", "enabled": "1",
		"constraint_0_name": "long_term", "constraint_0_power_limit_uw": "65000000",
		"constraint_0_time_window_us": "27983872",
		"constraint_1_name":           "short_term", "constraint_1_power_limit_uw": "90000000",
		"constraint_2_name": "peak_power", "constraint_2_power_limit_uw": "rubbish",
	} {
		put(t, dir, zone+file, text+"\n")
	}
	before := ReadPowerLimits(m.Root)
	want := []results.PowerLimit{
		{Zone: "intel-rapl:0", Name: "package-0", Limit: "long_term", UW: 65_000_000, WindowUS: 27_983_872,
			Enabled: true},
		{Zone: "intel-rapl:0", Name: "package-0", Limit: "short_term", UW: 90_000_000, Enabled: true},
	}
	must.EqualList(t, before, want)
	must.Equal(t, checkPowerLimits(before).Found,
		"package-0 long_term 65 W over 27.983872 s, package-0 short_term 90 W over 0 s")
	put(t, dir, zone+"constraint_0_power_limit_uw", "45000000\n")
	moved := MovedLimits(before, ReadPowerLimits(m.Root))
	if !slices.Equal(moved, []string{"the power limit long_term of package-0 (intel-rapl:0) moved from " +
		"65 W over 27.983872 s to 45 W over 27.983872 s"}) {
		t.Errorf("%q", moved)
	}
	moved = MovedLimits(before, before)
	must.Be(t, moved == nil, "nothing moved, yet", moved)
}
