package probe

import (
	"strings"
	"testing"

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
