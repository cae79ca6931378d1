package control

import (
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/rig/must"
)

// clocks are the files of the clock sources; the kernel ends the list with a space
// (kernel/time/clocksource.c of Linux 6.12:1476).
func clocks(current, available string) texts {
	return texts{clocksourceDir + "/current_clocksource": current + "\n",
		clocksourceDir + "/available_clocksource": available + "\n"}
}

func TestClocksource(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		files        texts
		status       setting.Status
		found        string
		wanted       string
	}{
		{"tsc", "", clocks("tsc", "tsc hpet acpi_pm "), setting.StatusOK, "tsc", "tsc, or a hypervisor's"},
		{"tsc unstable", "", clocks("hpet", "hpet acpi_pm "), setting.StatusCannot, "hpet",
			"tsc, or a hypervisor's"},
		{"paravirtual clock", "", clocks("kvm-clock", "kvm-clock tsc acpi_pm "),
			setting.StatusOK, "kvm-clock", "tsc, or a hypervisor's"}, // read without a system call
		{"that clock wanted", "kvm-clock", clocks("kvm-clock", "kvm-clock tsc acpi_pm "),
			setting.StatusOK, "kvm-clock", "kvm-clock"},
		{"arm64", "", clocks("arch_sys_counter", "arch_sys_counter "),
			setting.StatusOK, "arch_sys_counter", "any"},
		{"no clock source", "", texts{}, setting.StatusCannot, "unknown", "any"},
	} {
		f := check(t, required(clocksource, "name", tt.source), tt.files)
		must.Be(t, f.Status == tt.status && f.Found == tt.found && f.Wanted == tt.wanted, tt.name, f)
	}
}
