package probe

import (
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// cpuinfoOf are processors without a tree (arch/riscv/kernel/cpu.c, arch/s390/kernel/processor.c).
var cpuinfoOf = map[string]string{
	"riscv": "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\n",
	"s390":  "vendor_id       : IBM/S390\n# processors    : 2\nfeatures\t: esan3 zarch\n",
}

// TestRemediesAreTrueWhereTheyArePrinted: no x86 registers or drivers on arm64, nothing about a
// guest's hardware, no modules where the kernel loads none.
func TestRemediesAreTrueWhereTheyArePrinted(t *testing.T) {
	dirs := map[string]string{}
	for _, tt := range []struct{ tree, topic, text, not string }{
		{"more/graviton", "frequency", "bare metal", "EIST"},
		{"more/graviton", "sensors", "bare metal", "coretemp"},
		{"more/graviton", "msr", "only x86", "modprobe"},
		{"more/raspberry-pi", "sensors", "loads no modules", "load the driver"},
		{"riscv", "sensors", "the board's", "coretemp"},
		{"more/raspberry-pi", "turbo", `turbo = "warn"`, "msr"},
		{"more/container", "perf", "CAP_PERFMON", "paranoid"},
		{"more/container", "throttle", "host of this virtual machine", "counters"},
		{"kvm-guest", "msr", "bare metal", "modprobe"},
		{"intel-server", "msr", "loads no modules", "modprobe"}, // the tree has no /proc/modules
		{"intel-server", "turbo", "msr = true", "warn"},
		{"intel-server", "sensors", "coretemp", "board"},
		{"more/epyc-nps4", "perf", "as root", "container"},
		{"more/epyc-nps4", "cstates", "intel_idle", "guest"},
		{"more/epyc-nps4", "nohz", "Debian's", "container"},
		{"more/graviton", "cstates", "host of this virtual machine", "intel_idle"},
		{"more/graviton", "turbo", `turbo = "warn"`, "msr"},
		{"more/raspberry-pi", "cstates", "cpuidle.off", "intel_idle"},
		{"more/raspberry-pi", "nohz", "build a kernel", "Debian's"},
		{"more/container", "nohz", "on the host of this container", "Debian's"},
		{"more/container", "debugfs", "on the host of this container", "locked"},
		{"more/container", "uncore", "on the host of this container", "servers"},
		{"intel-server", "uncore", "no modules", "modprobe"},
		{"more/container", "log", "outside of the container", "root"},
		{"more/raspberry-pi", "log", "CONFIG_PRINTK", "container"},
		{"more/epyc-nps4", "sensors", "loads no modules", "load the driver"},
		{"riscv", "msr", "only x86", "modprobe"},
		{"riscv", "frequency", "the board's frequency driver", "EIST"},
		{"riscv", "turbo", "in the firmware", "msr"},
		{"s390", "msr", "only x86", "modprobe"}, // it names a vendor, too
		{"more/s390x", "frequency", "the clock is fixed", "driver"},
		{"more/s390x", "turbo", "the clock is fixed", "firmware"},
		{"more/s390x", "sensors", "nothing to do", "load"},
		{"more/power9", "frequency", "bare metal", "cppc"},
		{"more/power9", "sensors", "bare metal", "load"},
		{"more/wsl2", "nohz", ".wslconfig", "Debian's"},
		{"more/container-v1", "msr", "on the host of this container", "krund loads"},
		{"more/container-v1", "cstates", "on the host of this container", "boot with"},
		{"more/altra", "turbo", "in the firmware", "msr"},
		{"more/visionfive2", "sensors", "the board's", "coretemp"},
		{"more/visionfive2", "turbo", `turbo = "warn"`, "msr"},
		{"more/m7i-metal", "frequency", "rented", "firmware, or load"},
		{"more/m7i-metal", "turbo", "msr = true", "in the firmware"},
		{"more/m7i-metal", "nohz", "use a kernel", "install"},
	} {
		dir, text := dirs[tt.tree], cpuinfoOf[tt.tree]
		if text != "" {
			dir = t.TempDir()
			must.Write(t, filepath.Join(dir, "proc/cpuinfo"), text)
			must.Write(t, filepath.Join(dir, "proc/modules"), "")
		} else if dir == "" {
			dir = machines.New(t, tt.tree)
			dirs[tt.tree] = dir
		}
		p := PlatformOf(host.Host{Root: sysroot.New(dir)})
		got := p.Remedy(tt.topic)
		must.Be(t, strings.Contains(got, tt.text) && !strings.Contains(got, tt.not), tt, got)
	}
	must.Equal(t, Platform{}.Remedy("no such topic"), "")
}
