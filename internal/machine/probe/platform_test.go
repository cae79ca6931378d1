package probe

import (
	"strings"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestRemediesAreTrueWhereTheyArePrinted: no x86 registers or drivers on arm64, nothing about a
// guest's hardware, no modules where the kernel loads none.
func TestRemediesAreTrueWhereTheyArePrinted(t *testing.T) {
	for _, tt := range []struct{ tree, topic, text, not string }{
		{"more/graviton", "frequency", "bare metal", "EIST"},
		{"more/graviton", "sensors", "bare metal", "coretemp"},
		{"more/graviton", "msr", "only x86", "modprobe"},
		{"more/raspberry-pi", "sensors", "the board's", "coretemp"},
		{"more/raspberry-pi", "turbo", `turbo = "warn"`, "msr"},
		{"more/container", "perf", "CAP_PERFMON", "paranoid"},
		{"more/container", "throttle", "host of this virtual machine", "counters"},
		{"kvm-guest", "msr", "bare metal", "modprobe"},
		{"intel-server", "msr", "loads no modules", "modprobe"}, // the tree has no /proc/modules
		{"intel-server", "turbo", "msr = true", "warn"},
		{"intel-server", "sensors", "coretemp", "board"},
		{"more/epyc-nps4", "perf", "as root", "container"},
	} {
		p := PlatformOf(host.Host{Root: sysroot.New(machines.New(t, tt.tree))})
		got := p.Remedy(tt.topic)
		must.Be(t, strings.Contains(got, tt.text) && !strings.Contains(got, tt.not), tt, got)
	}
	must.Equal(t, Platform{}.Remedy("no such topic"), "")
}
