package host

import (
	"testing"

	"krund/rig/must"
)

func TestSustainable(t *testing.T) {
	tests := []struct {
		name string
		p    FrequencyPolicy
		khz  int64
		sure bool
	}{
		{"intel_pstate with HWP names its base frequency",
			FrequencyPolicy{Driver: "intel_pstate", Base: 3600000, HWMax: 5000000}, 3600000, true},
		{"amd-pstate: nominal frequency of CPPC",
			FrequencyPolicy{Driver: "amd-pstate-epp", Nominal: 3800000, HWMax: 4850000}, 3800000, true},
		{"amd-pstate passive", FrequencyPolicy{Driver: "amd-pstate", Nominal: 3800000, HWMax: 4850000},
			3800000, true},
		{"cppc_cpufreq", FrequencyPolicy{Driver: "cppc_cpufreq", Nominal: 3000000, HWMax: 3000000}, 3000000,
			true},
		{"table with an entry for turbo", FrequencyPolicy{Driver: "acpi-cpufreq",
			Steps: []int64{3601000, 3600000, 800000}, HWMax: 3601000}, 3600000, true},
		// Only with CPPC is the maximum above the table (acpi-cpufreq.c:848-866 of Linux 6.12).
		{"table without one", FrequencyPolicy{Driver: "acpi-cpufreq", Steps: []int64{2400000, 1800000},
			HWMax: 2900000}, 2400000, true},
		{"boost frequencies within the table",
			FrequencyPolicy{Driver: "cpufreq-dt", Steps: []int64{1000000, 2000000, 2200000},
				Boosts: []int64{2200000}}, 2000000, true},
		{"nothing known: the hardware's maximum, without warrant",
			FrequencyPolicy{Driver: "other", HWMax: 2000000}, 2000000, false},
		{"only boost frequencies", FrequencyPolicy{Driver: "other", Steps: []int64{1}, Boosts: []int64{1}},
			0, true},
	}
	for _, tt := range tests {
		khz, sure := tt.p.Sustainable()
		must.Be(t, khz == tt.khz && sure == tt.sure, tt.name, khz, sure, "want", tt.khz, tt.sure)
	}
}

func TestIntelBase(t *testing.T) {
	tests := []struct {
		name                    string
		lo, hi, states, percent int64
		noTurbo                 string
		want                    int64
	}{
		{"Core i5-2500 with turbo on", 1600000, 3700000, 22, 19, "0", 3300000},
		{"Core i7-4790 with turbo on", 800000, 4000000, 33, 13, "0", 3600000},
		{"turbo off: the driver has lowered the maximum", 1600000, 3300000, 22, 19, "1", 3300000},
		{"turbo off before Linux 6.10: the maximum is still that of turbo", 1600000, 3700000, 22, 19, "1",
			3300000},
		{"Core i7-4790K with turbo off on Linux 6.1", 800000, 4400000, 37, 11, "1", 4000000},
		{"Core i7-4790K with turbo off on Linux 6.10", 800000, 4000000, 37, 11, "1", 4000000},
		{"turbo off in the firmware, P-states not said", 1600000, 3300000, 0, 0, "1", 3300000},
		{"a processor without turbo", 1600000, 3300000, 18, 0, "1", 3300000},
		{"not said", 1600000, 3700000, 0, 0, "0", 0},
		{"hybrid: no turbo_pct, all counts as lasting", 400000, 4400000, 41, 0, "0", 4400000},
		{"rubbish", 1, 0, 22, 200, "0", 0},
	}
	for _, tt := range tests {
		must.Equal(t, intelBase(tt.lo, tt.hi, tt.states, tt.percent, tt.noTurbo), tt.want, tt.name)
	}
}
