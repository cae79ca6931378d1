package probe

import (
	"strings"

	"krund/internal/machine/host"
)

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

// remedies are what to do about something that a machine lacks: the first row of a topic whose
// condition holds is true on the machine.
var remedies = []struct {
	topic string
	where func(Platform) bool
	text  string
}{
	{"sensors", Platform.isGuest, `measure on bare metal: a virtual machine has no sensors; ` +
		`temperature = "warn" in [controls] measures without`},
	{"sensors", Platform.isContainer, "run outside of the container, where /sys shows the sensors"},
	{"sensors", Platform.isMainframe, `nothing to do: a mainframe shows no sensors; temperature = "warn" in ` +
		"[controls] measures without"},
	{"sensors", Platform.noModules, "use a kernel with the driver of the sensors built in (such as " +
		"coretemp, k10temp): this one loads no modules"},
	{"sensors", Platform.isX86, "load the driver of the sensors (coretemp, k10temp, nct6775), or choose " +
		"existing ones in [temperature] sensors"},
	{"sensors", nil, "load the driver of the board's sensors or thermal zones (`ls /sys/class/hwmon " +
		"/sys/class/thermal`), or choose existing ones in [temperature] sensors"},

	{"log", Platform.isContainer, "run outside of the container, which does not show /dev/kmsg"},
	{"log", nil, "use a kernel with CONFIG_PRINTK=y"},

	{"throttle", Platform.isGuest, "nothing to do: only the host of this virtual machine can see it"},
	{"throttle", nil, "nothing to do: use the processor's counters, see [counters]"},

	{"frequency", Platform.isGuest, `measure on bare metal; frequency = "warn" in [controls] measures with ` +
		"the clock that the host gives"},
	{"frequency", Platform.isRented, `nothing to do on a rented machine, whose owner has the firmware: ` +
		`frequency = "warn" in [controls] measures with the clock that it gives`},
	{"frequency", Platform.isX86, "enable frequency control (EIST, SpeedStep, Cool'n'Quiet, CPPC) in the " +
		"firmware, or load the driver"},
	{"frequency", Platform.isMainframe, `nothing to do: the clock is fixed; frequency = "warn" in ` +
		"[controls] measures with it"},
	{"frequency", nil, "load the processor's or the board's frequency driver, if it has one (such as " +
		`cppc_cpufreq, scmi-cpufreq); if the clock is fixed, set frequency = "warn" in [controls]`},

	{"turbo", Platform.isGuest, `measure on bare metal; turbo = "warn" in [controls] measures with what ` +
		"the host gives"},
	{"turbo", Platform.isMainframe, `nothing to do: the clock is fixed; turbo = "warn" in [controls] ` +
		"measures with it"},
	{"turbo", Platform.rentedArm, `nothing to do on a rented machine, whose owner has the firmware: ` +
		`turbo = "warn" in [controls] measures with what it gives`},
	{"turbo", Platform.isRented, `set turbo = { policy = "require", msr = true } in [controls]`},
	{"turbo", Platform.isX86, `switch it off in the firmware, or set turbo = { policy = "require", ` +
		`msr = true } in [controls]`},
	{"turbo", nil, `switch it off in the firmware; if there is none, set turbo = "warn" in [controls]`},

	{"cstates", Platform.isGuest, "nothing to do: the host of this virtual machine decides how deeply its " +
		"processors sleep"},
	{"cstates", Platform.isContainer, "on the host of this container: limit the idle states in the firmware"},
	{"cstates", Platform.isX86, "limit C-states in the firmware, or boot with intel_idle.max_cstate or " +
		"processor.max_cstate"},
	{"cstates", nil, "limit the idle states in the firmware, or boot with cpuidle.off=1"},

	{"nohz", Platform.isContainer, "on the host of this container: install a kernel with " +
		"CONFIG_NO_HZ_FULL=y"},
	{"nohz", Platform.isWSL, "build a kernel with CONFIG_NO_HZ_FULL=y for WSL (kernel= in .wslconfig), or " +
		"measure on bare metal"},
	{"nohz", Platform.isX86, "use a kernel with CONFIG_NO_HZ_FULL=y (Debian's and Fedora's have it)"},
	{"nohz", nil, "install or build a kernel with CONFIG_NO_HZ_FULL=y"},

	{"uncore", Platform.isContainer, "on the host of this container: modprobe intel_uncore_frequency"},
	{"uncore", Platform.noModules, "the kernel loads no modules: use one with " +
		"CONFIG_INTEL_UNCORE_FREQ_CONTROL=y"},
	{"uncore", nil, "modprobe intel_uncore_frequency, which servers and newer processors have"},

	{"debugfs", Platform.isContainer, "on the host of this container: mount -t debugfs none " +
		"/sys/kernel/debug, and show it to the container"},
	{"debugfs", nil, "mount -t debugfs none /sys/kernel/debug"},

	{"msr", Platform.notX86, "only x86 processors have these registers: use the source perf"},
	{"msr", Platform.isGuest, "measure on bare metal: a virtual machine seldom shows these registers"},
	{"msr", Platform.isContainer, "on the host of this container: modprobe msr, and show /dev/cpu to the " +
		"container"},
	{"msr", Platform.noModules, "the kernel loads no modules: use one with CONFIG_X86_MSR=y"},
	{"msr", nil, "krund loads the kernel module msr when it needs it; so does `modprobe msr`"},

	{"perf", Platform.isContainer, "in a container also root needs CAP_PERFMON and a seccomp profile that " +
		"allows perf_event_open; or run outside"},
	{"perf", nil, "run krund as root, or see kernel.perf_event_paranoid"},
}

// Remedy returns what to do about a topic of remedies on this machine.
func (p Platform) Remedy(topic string) string {
	for _, r := range remedies {
		if r.topic == topic && (r.where == nil || r.where(p)) {
			return r.text
		}
	}
	return ""
}

func (p Platform) isGuest() bool     { return p.Guest }
func (p Platform) isMainframe() bool { return p.Mainframe }
func (p Platform) isWSL() bool       { return p.WSL }
func (p Platform) isRented() bool    { return p.Rented }
func (p Platform) rentedArm() bool   { return p.Rented && !p.X86 }
func (p Platform) isContainer() bool { return p.Container }
func (p Platform) isX86() bool       { return p.X86 }
func (p Platform) notX86() bool      { return !p.X86 }
func (p Platform) noModules() bool   { return !p.Modules }
