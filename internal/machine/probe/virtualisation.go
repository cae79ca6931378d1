package probe

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// virtualisation declares the probe of this file.
var virtualisation = setting.Descriptor{
	Name: "virtualisation", Policy: setting.Warn,
	Brief: "no hypervisor below krund",
	Why:   "the load of other machines on the same host affects the speed of this one",
	What: "systemd-detect-virt, the processor's hypervisor flag, the firmware's names, `/sys/hypervisor`; " +
		"`pvbus` on OpenBSD",
}

// Virtualisation describes the hypervisor and the container that krund runs in, if any.
type Virtualisation struct {
	// the hypervisor ("kvm", "vmware", ...); "vm" if unknown; "" for none
	Machine   string   `json:"machine"`
	Container string   `json:"container"`          // the kind of container; "" for none
	Evidence  []string `json:"evidence,omitempty"` // evidence for it

	rented bool // see rented
}

// None reports whether nothing was found.
func (v Virtualisation) None() bool { return v.Machine == "" && v.Container == "" }

func (v Virtualisation) String() string {
	switch {
	case v.None():
		return "none"
	case v.Container == "":
		return v.Machine
	case v.Machine == "":
		return v.Container + " container"
	}
	return fmt.Sprintf("%s container on %s", v.Container, v.Machine)
}

// hypervisors maps prefixes of the machine names that firmware reports to hypervisors, as in
// systemd-detect-virt(1). The first match counts.
var hypervisors = []struct{ word, name string }{
	{"KVM", "kvm"}, {"OpenStack", "kvm"}, {"KubeVirt", "kvm"}, {"Amazon EC2", "amazon"}, {"QEMU", "qemu"},
	{"VMware", "vmware"}, {"VMW", "vmware"},
	{"innotek GmbH", "oracle"}, {"VirtualBox", "oracle"}, {"Xen", "xen"}, {"Bochs", "bochs"},
	{"Parallels", "parallels"}, {"BHYVE", "bhyve"}, {"Hyper-V", "microsoft"},
	{"Virtual Machine", "microsoft"}, {"Google Compute Engine", "google"},
	{"Apple Virtualization", "apple"}, {"OpenBSD", "vmm"}, {"Firecracker", "firecracker"},
}

// byFirmware returns the hypervisor that the firmware names.
func byFirmware(texts ...string) string {
	for _, h := range hypervisors {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, h.word) }) {
			return h.name
		}
	}
	return ""
}

// DetectVirtualisation asks, in this order, systemd-detect-virt, the processor, the firmware and
// the hypervisor's own traces. Any one is enough; the most specific name is kept.
func DetectVirtualisation(ctx context.Context, h host.Host) Virtualisation {
	var v Virtualisation
	v.askSystemd(ctx, h.Commands)
	v.askFiles(h)
	if h.Root.Exists("/sys") {
		return v
	}
	v.askSysctl(ctx, h.Commands)
	return v
}

// found adds evidence. A more specific name replaces "vm".
func (v *Virtualisation) found(machine, evidence string) {
	if v.Machine == "" || v.Machine == "vm" {
		v.Machine = machine
	}
	v.Evidence = append(v.Evidence, evidence)
}

// askSystemd runs systemd-detect-virt(1), which exits with 1 and prints "none" on bare hardware.
func (v *Virtualisation) askSystemd(ctx context.Context, c host.Commands) {
	if c == nil {
		return
	}
	if out, _ := c.Output(ctx, "systemd-detect-virt", "--vm"); isName(out) {
		v.found(strings.TrimSpace(string(out)), "systemd-detect-virt --vm: "+strings.TrimSpace(string(out)))
	}
	if out, _ := c.Output(ctx, "systemd-detect-virt", "--container"); isName(out) {
		v.Container = strings.TrimSpace(string(out))
		v.Evidence = append(v.Evidence, "systemd-detect-virt --container: "+v.Container)
	}
}

// isName reports whether the output of a program is a name.
func isName(out []byte) bool {
	text := strings.TrimSpace(string(out))
	return text != "" && text != "none" && !strings.ContainsAny(text, " \n")
}

// askFiles looks at what Linux shows.
func (v *Virtualisation) askFiles(h host.Host) {
	const dmi = "/sys/class/dmi/id/"
	var names []string
	for _, file := range []string{"product_name", "sys_vendor", "board_vendor", "bios_vendor",
		"product_version"} {
		if text, err := h.Root.Read(dmi + file); err == nil {
			names = append(names, text)
		}
	}
	cpuinfo, _ := h.Root.Read("/proc/cpuinfo") // "" says nothing
	name := byFirmware(names...)
	if v.rented = rented(name, names, cpuinfo); name != "" && !v.rented {
		v.found(name, "firmware: "+strings.Join(names, ", "))
	}
	if host.CPUFlag(cpuinfo, "hypervisor") {
		v.found("vm", "processor: flag hypervisor")
	}
	if text, err := h.Root.Read("/sys/hypervisor/type"); err == nil && text != "" {
		v.found(text, "/sys/hypervisor/type: "+text)
	}
	if text, err := h.Root.Read("/proc/device-tree/hypervisor/compatible"); err == nil {
		v.found(strings.Trim(text, "\x00 "), "device tree: hypervisor")
	}
	if marks, _ := h.Root.Glob("/proc/device-tree/fw-cfg*"); len(marks) > 0 && v.Machine == "" {
		v.found("qemu", "device tree: fw-cfg")
	}
	if name, err := h.Root.Read("/proc/device-tree/ibm,partition-name"); err == nil && v.Machine == "" {
		v.found("powervm", "device tree: partition "+strings.Trim(name, "\x00 "))
	}
	sysinfo, _ := h.Root.Read("/proc/sysinfo") // of mainframes
	if _, under, ok := strings.Cut(sysinfo, "VM00 Control Program:"); ok {
		under, _, _ = strings.Cut(under, "\n")
		v.found(strings.Join(strings.Fields(under), " "), "/proc/sysinfo: VM00 Control Program")
	}
	if isWSL(h) {
		v.found("wsl", "the kernel's release")
	}
	if text, err := h.Root.Read("/run/systemd/container"); err == nil && text != "" && v.Container == "" {
		v.Container = text
		v.Evidence = append(v.Evidence, "/run/systemd/container: "+text)
	}
	for _, mark := range []struct{ file, text, kind string }{{"/.dockerenv", "", "docker"},
		{"/run/.containerenv", "", "podman"}, {"/proc/1/environ", "container=lxc", "lxc"},
		{"/proc/self/cgroup", "/kubepods", "kubernetes"}} {
		if text, err := h.Root.Read(mark.file); v.Container == "" && err == nil &&
			strings.Contains(text, mark.text) {
			v.Container = mark.kind
			v.Evidence = append(v.Evidence, strings.TrimSpace(mark.file+" "+mark.text))
		}
	}
}

// rented reports whether a machine that the firmware attributes to a cloud provider is a bare-metal
// machine without a hypervisor: Amazon and Google offer both, under the same vendor. Amazon's have
// ".metal" in their product name; on x86 a virtual machine of either has the processor's hypervisor
// flag, which systemd-detect-virt(1) also uses.
func rented(name string, firmware []string, cpuinfo string) bool {
	if name != "amazon" && name != "google" || host.CPUFlag(cpuinfo, "hypervisor") {
		return false
	}
	metal := slices.ContainsFunc(firmware, func(text string) bool { return strings.Contains(text, ".metal") })
	return name == "amazon" && metal || host.CPUFlag(cpuinfo, "fpu")
}

// askSysctl looks at what OpenBSD shows.
func (v *Virtualisation) askSysctl(ctx context.Context, c host.Commands) {
	if c == nil {
		return
	}
	var names []string
	for _, variable := range []string{"hw.vendor", "hw.product"} {
		if out, err := c.Output(ctx, "sysctl", "-n", variable); err == nil {
			names = append(names, strings.TrimSpace(string(out)))
		}
	}
	if name := byFirmware(names...); name != "" {
		v.found(name, "firmware: "+strings.Join(names, ", "))
	}
	if out, err := c.Output(ctx, "dmesg"); err == nil &&
		strings.Contains(string(out), "\npvbus0 at mainbus0") {
		v.found("vm", "dmesg: pvbus0 at mainbus0")
	}
}

// A Platform is what decides which remedies can work on a machine.
type Platform struct {
	X86       bool
	Guest     bool // of a hypervisor
	Container bool
	Modules   bool // the kernel loads modules
	Mainframe bool // of IBM: no sensors, a fixed clock
	Rented    bool // a whole machine of a cloud: its firmware is the owner's
	WSL       bool // Windows starts the kernel
}

// PlatformOf reads the files of a machine; it runs no program.
func PlatformOf(h host.Host) Platform {
	var v Virtualisation
	v.askFiles(h)
	cpuinfo, _ := h.Root.Read("/proc/cpuinfo") // "" is of no known processor
	return Platform{X86: host.IsX86(cpuinfo), Guest: v.Machine != "",
		Container: v.Container != "", Modules: h.Root.Exists("/proc/modules"),
		Mainframe: strings.Contains(cpuinfo, "IBM/S390"), WSL: isWSL(h), Rented: v.rented}
}

// isWSL reports whether the kernel is that of the Windows Subsystem for Linux, by its release.
func isWSL(h host.Host) bool {
	release, _ := h.Root.Read("/proc/sys/kernel/osrelease") // "" is of no known kernel
	return strings.Contains(strings.ToLower(release), "microsoft")
}

// remedies are what to do about something that a machine lacks.
//
//go:embed remedies.txt
var remedies string

// is reports whether a condition of remedies holds.
func (p Platform) is(condition string) bool {
	return map[string]bool{"any": true, "guest": p.Guest, "container": p.Container, "mainframe": p.Mainframe,
		"wsl": p.WSL, "rented": p.Rented, "rented-arm": p.Rented && !p.X86, "x86": p.X86, "not-x86": !p.X86,
		"no-modules": !p.Modules}[condition]
}

// Remedy returns what to do about a topic of remedies on this machine.
func (p Platform) Remedy(topic string) string {
	for line := range strings.Lines(remedies) {
		of, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		condition, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if of == topic && p.is(condition) {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
