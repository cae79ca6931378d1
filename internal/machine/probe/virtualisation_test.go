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

func TestVirtualisationOfEachMachine(t *testing.T) {
	for _, name := range []string{"intel-acpi-cpufreq", "intel-pstate-active", "amd-pstate-epp",
		"amd-acpi-cpufreq", "intel-hybrid", "arm64"} {
		m, _ := machine(t, name)
		v := DetectVirtualisation(t.Context(), m)
		must.Be(t, v.None() && v.String() == "none", name, v)
	}
	m, dir := machine(t, "kvm-guest")
	v := DetectVirtualisation(t.Context(), m)
	must.Be(t, v.String() == "qemu" && len(v.Evidence) == 2, "by firmware and processor", v)
	m.Commands = scripted{"systemd-detect-virt --vm": "kvm\n", "systemd-detect-virt --container": "none\n"}
	v = DetectVirtualisation(t.Context(), m)
	must.Be(t, v.String() == "kvm" && v.Container == "" && len(v.Evidence) == 3, "by systemd first", v)
	put(t, dir, "run/.containerenv", "")
	v = DetectVirtualisation(t.Context(), m)
	must.Equal(t, v.String(), "podman container on kvm", "in a container", v)
}

func TestVirtualisationByEachTrace(t *testing.T) {
	tests := []struct {
		name, file, text, want string
	}{
		{"processor", "proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n", "vm"},
		{"xen", "sys/hypervisor/type", "xen\n", "xen"},
		{"arm", "proc/device-tree/hypervisor/compatible", "linux,kvm\x00", "linux,kvm"},
		{"hyper-v", "sys/class/dmi/id/product_name", "Virtual Machine\n", "microsoft"},
		{"vmware", "sys/class/dmi/id/sys_vendor", "VMware, Inc.\n", "vmware"},
		{"qemu without tables", "proc/device-tree/fw-cfg@9020000/compatible", "qemu,fw-cfg-mmio", "qemu"},
		{"power", "proc/device-tree/ibm,partition-name", "lpar7\x00", "powervm"},
		{"mainframe", "proc/sysinfo", "LPAR Number: 2\nVM00 Control Program: KVM/Linux\n", "KVM/Linux"},
		{"mainframe without", "proc/sysinfo", "LPAR Number: 2\n", "none"},
		{"wsl", "proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n", "wsl"},
		{"docker", ".dockerenv", "", "docker container"},
		{"lxc", "proc/1/environ", "TERM=linux\x00container=lxc\x00", "lxc container"},
		{"kubernetes", "proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-9.scope\n",
			"kubernetes container"},
		{"no container", "proc/1/environ", "TERM=linux\x00", "none"},
		{"nspawn", "run/systemd/container", "systemd-nspawn\n", "systemd-nspawn container"},
		{"a name that only has a hypervisor's in it", "sys/class/dmi/id/product_name", "Workstation for " +
			"QEMU users\n", "none"},
		{"the flag of another line", "proc/cpuinfo", "model name : hypervisor\nflags : fpu\n", "none"},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		put(t, dir, "sys/kernel/x", "")
		put(t, dir, tt.file, tt.text)
		m := host.Host{Root: sysroot.New(dir)}
		v := DetectVirtualisation(t.Context(), m)
		must.Equal(t, v.String(), tt.want, tt.name, v)
	}
}

// TestCloudMachines: the firmware of a cloud machine names the same vendor with and without a
// hypervisor.
func TestCloudMachines(t *testing.T) {
	const bare, guest, arm = "processor : 0\nflags : fpu vme\n", "processor : 0\nflags : fpu hypervisor\n",
		"processor : 0\nFeatures : fp asimd\n"
	tests := []struct{ name, vendor, product, cpuinfo, want string }{
		{"Amazon, metal", "Amazon EC2", "c5.metal", bare, "none"},
		{"Amazon, metal in sizes", "Amazon EC2", "c7i.metal-24xl", bare, "none"},
		{"Amazon, metal on arm", "Amazon EC2", "m6g.metal", arm, "none"},
		{"Amazon, virtual", "Amazon EC2", "c5.large", guest, "amazon"},
		{"Amazon, virtual on arm", "Amazon EC2", "m6g.large", arm, "amazon"},
		{"Amazon, a name is not enough", "Amazon EC2", "c5.metal", guest, "amazon"},
		{"Google, metal", "Google", "Google Compute Engine", bare, "none"},
		{"Google, virtual", "Google", "Google Compute Engine", guest, "google"},
		{"another's", "QEMU", "c5.metal", bare, "qemu"},
		{"no cpuinfo", "Google", "Google Compute Engine", "", "google"},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		put(t, dir, "sys/class/dmi/id/sys_vendor", tt.vendor+"\n")
		put(t, dir, "sys/class/dmi/id/product_name", tt.product+"\n")
		put(t, dir, "proc/cpuinfo", tt.cpuinfo)
		v := DetectVirtualisation(t.Context(), host.Host{Root: sysroot.New(dir)})
		must.Equal(t, v.String(), tt.want, tt.name, v)
	}
}

func TestVirtualisationOfOpenBSD(t *testing.T) {
	tests := []struct {
		name     string
		commands host.Commands
		want     string
	}{
		{"hardware", scripted{"sysctl -n hw.vendor": "Dell Inc.\n", "sysctl -n hw.product": "OptiPlex 9020\n",
			"dmesg": "mainbus0 at root\ncpu0 at mainbus0\n"}, "none"},
		{"vmm", scripted{"sysctl -n hw.vendor": "OpenBSD\n", "sysctl -n hw.product": "VMM\n",
			"dmesg": "mainbus0 at root\npvbus0 at mainbus0: OpenBSD\n"}, "vmm"},
		{"only the kernel knows", scripted{"dmesg": "mainbus0 at root\npvbus0 at mainbus0: KVM\n"}, "vm"},
		{"no source of information", nil, "none"},
	}
	for _, tt := range tests {
		m := host.Host{Root: sysroot.New(t.TempDir()), Commands: tt.commands}
		v := DetectVirtualisation(t.Context(), m)
		must.Equal(t, v.String(), tt.want, tt.name, v)
	}
}

func TestSystemdAnswers(t *testing.T) {
	for text, want := range map[string]bool{"kvm\n": true, "none\n": false, "": false,
		"Failed to connect\n": false, "a\nb": false} {
		must.Equal(t, isName([]byte(text)), want, text)
	}
	must.Be(t, !strings.Contains(byFirmware("LENOVO", "20XW"), "l"),
		"a laptop is taken for a virtual machine")
}

// TestContainerOfAMachine: on bare metal the remedy is not to look for it.
func TestContainerOfAMachine(t *testing.T) {
	for v, want := range map[string]Virtualisation{"bare metal": {Machine: "kvm", Container: "docker"},
		"outside of the container": {Container: "docker"}} {
		must.Be(t, strings.Contains(checkVirtualisation(want).Fix, v), want)
	}
}

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
		{"more/raspberry-pi", "cstates", "cpuidle.off", "intel_idle"},
		{"more/raspberry-pi", "nohz", "build a kernel", "Debian's"},
		{"more/container", "nohz", "on the host of this container", "Debian's"},
		{"more/container", "debugfs", "on the host of this container", "locked"},
		{"intel-server", "uncore", "no modules", "modprobe"},
		{"more/container", "log", "outside of the container", "root"},
		{"more/raspberry-pi", "log", "CONFIG_PRINTK", "container"},
		{"riscv", "msr", "only x86", "modprobe"},
		{"riscv", "frequency", "the board's frequency driver", "EIST"},
		{"riscv", "turbo", "in the firmware", "msr"},
		{"s390", "msr", "only x86", "modprobe"}, // it names a vendor, too
		{"more/s390x", "frequency", "the clock is fixed", "driver"},
		{"more/s390x", "turbo", "the clock is fixed", "firmware"},
		{"more/s390x", "sensors", "nothing to do", "load"},
		{"more/power9", "frequency", "bare metal", "cppc"},
		{"more/wsl2", "nohz", ".wslconfig", "Debian's"},
		{"more/container-v1", "msr", "on the host of this container", "krund loads"},
		{"more/container-v1", "cstates", "on the host of this container", "boot with"},
		{"more/altra", "turbo", "in the firmware", "msr"},
		{"more/visionfive2", "sensors", "the board's", "coretemp"},
		{"more/m7i-metal", "frequency", "rented", "firmware, or load"},
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
