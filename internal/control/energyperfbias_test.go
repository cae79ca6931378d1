package control

import (
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

func TestEnergyPerfBias(t *testing.T) {
	const bias = "/sys/devices/system/cpu/cpu1/power/energy_perf_bias"
	for _, tt := range []struct {
		name, value string
		cpu1        string // "" removes the file of CPU 1
		status      setting.Status
		found       string
		wanted      string
		steps       int
	}{
		{"all differ", "performance", "6", setting.StatusWillSet, "6", "0", 4},
		{"one is as wanted", "balance-performance", "4", setting.StatusWillSet, "6, 4", "4", 3},
		{"one differs", "6", "15", setting.StatusWillSet, "6, 15", "6", 1},
		{"as wanted", "normal", "6", setting.StatusOK, "6", "6", 0},
		{"a CPU is offline", "power", "", setting.StatusWillSet, "6", "15", 3},
		{"not a bias", "balance-power", "16", setting.StatusCannot, "unknown", "8", 0},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		if tt.cpu1 == "" {
			k.remove(t, bias)
		} else {
			k.put(bias, tt.cpu1)
		}
		p := required(energyPerfBias, "value", tt.value).plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found && p.Wanted == tt.wanted &&
			len(p.Steps) == tt.steps, tt.name, p)
	}
	m, _ := fakeMachine(t, "arm64")
	f := required(energyPerfBias).Check(t.Context(), m)
	must.Be(t, f.Status == setting.StatusOK && f.Found == "absent", "a processor without a bias", f)
}
