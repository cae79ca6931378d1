package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

const nohzFile = "/sys/devices/system/cpu/nohz_full"

// tickless checks that the benchmark CPUs are in the kernel's nohz_full set and that a CPU is left
// for timekeeping. Only a kernel argument changes the set. The set may contain other CPUs as well.
var tickless = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "tickless", Policy: setting.Require,
		Brief: "no timer ticks on the benchmark's CPUs (kernel argument `nohz_full=`)",
		Why:   "the timer interrupts each CPU 100 to 1000 times a second, benchmark or not",
		What: "nothing: `/sys/devices/system/cpu/nohz_full` must contain the benchmark's CPUs, but not " +
			"all CPUs",
		Notes: "`nohz_full=1-3` on the kernel's command line; Debian and Fedora kernels support it",
	},
	plan: func(_ context.Context, m *Machine, _ setting.Demand, r Request) Plan {
		cpus, online, err := m.PlannedCPUs(r)
		if err != nil {
			return cannot("unknown", "tickless benchmark CPUs", err.Error(), "")
		}
		p := planTickless(m, cpus, online)
		if p.Status == setting.StatusOK && !r.Of(shield.Name).Policy.Changes() &&
			!r.Of(placement.Name).Policy.Changes() {
			p.Detail = fmt.Sprintf("without `shield` benchmarks may also run on CPU %s",
				online.Minus(cpus))
		}
		return p
	},
}

func planTickless(m *Machine, cpus, online host.CPUs) Plan {
	wanted := "CPU " + cpus.String()
	text, err := m.Root.Read(nohzFile)
	if errors.Is(err, fs.ErrNotExist) {
		detail := "the kernel is built without CONFIG_NO_HZ_FULL"
		if state := m.KernelOption("CONFIG_NO_HZ_FULL"); state != "" {
			detail = "kernel configuration: " + state
		}
		return cannot("none", wanted, detail, probe.PlatformOf(m.Host).Remedy("nohz"))
	}
	if err != nil {
		return unreadable(wanted, err)
	}
	set, err := host.ParseCPUList(text)
	if err != nil {
		return unreadable(wanted, err)
	}
	found := "none"
	if len(set) > 0 {
		found = "CPU " + set.String()
	}
	argument := "nohz_full=" + cpus.String()
	switch {
	case len(cpus) == 0:
		return tooFew(m, found, "a tickless CPU", online)
	case set.Contains(online):
		return Plan{Status: setting.StatusNeedsReboot, Found: found, Wanted: wanted,
			Detail: "no CPU is left to keep the time", Fix: kernelArgument(m.Host, argument)}
	case !set.Contains(cpus):
		return Plan{Status: setting.StatusNeedsReboot, Found: found, Wanted: wanted,
			Fix: kernelArgument(m.Host, argument)}
	}
	return ok(found, wanted)
}

// PlannedCPUs returns the CPUs that benchmarks run on and those that are online, both as they are
// once the controls are set: without the sibling threads that smt is going to switch off, and only
// those that the control groups leave to krund.
func (m *Machine) PlannedCPUs(r Request) (cpus, online host.CPUs, err error) {
	online, err = m.Online()
	if err != nil {
		return nil, nil, err
	}
	online = m.allowed(online, r.Of("shield").Policy.Changes())
	if r.siblingsOff(m) {
		online = m.PrimaryThreads(online)
	}
	cpus, err = m.BenchmarkCPUs(r.CPUs(), online)
	return cpus, online, err
}

// allowed returns the members of cpus that benchmarks may run on: those of krund's control group,
// or of the topmost one that is visible if a shield is made below it, and those of the shield.
func (m *Machine) allowed(cpus host.CPUs, shielded bool) host.CPUs {
	own, err := ownCPUs(m.Host)
	if shielded {
		own, err = m.ReadCPUs(groupRoot + "/cpuset.cpus.effective")
	}
	if err != nil {
		return cpus
	}
	shield, _ := m.ReadCPUs(shieldDir + "/cpuset.cpus") // none without one
	if both := cpus.Minus(cpus.Minus(own).Minus(shield)); len(both) > 0 {
		return both
	}
	return cpus
}

// SystemCPUs returns the CPUs that benchmarks leave to the rest of the system; nil if there are
// none or they are unknown.
func (m *Machine) SystemCPUs(r Request) host.CPUs {
	cpus, online, err := m.PlannedCPUs(r)
	if err != nil || len(cpus) == 0 {
		return nil
	}
	return online.Minus(cpus)
}

// loaders are the places of the kernel's command line: the first whose file is there is the
// machine's. add and remove are sentences with one %s, an argument or its name.
var loaders = []struct{ distribution, file, add, remove string }{
	{wsl, "", `add %s to kernelCommandLine= in .wslconfig of Windows, run "wsl --shutdown"`,
		`remove %s=... from kernelCommandLine= in .wslconfig of Windows, run "wsl --shutdown"`},
	{"", "/boot/firmware/cmdline.txt", "add %s to the line in /boot/firmware/cmdline.txt, reboot", // Pi
		"remove %s=... from the line in /boot/firmware/cmdline.txt, reboot"},
	{"", "/boot/cmdline.txt", "add %s to the line in /boot/cmdline.txt, reboot", // before Raspberry Pi OS 12
		"remove %s=... from the line in /boot/cmdline.txt, reboot"},
	{"", "/etc/kernelstub/configuration", `run kernelstub -a "%s", reboot`,
		`run kernelstub -d with the argument %s=..., reboot`}, // Pop!_OS
	{"fedora", "/etc/default/grub", `run grubby --update-kernel=ALL --args="%s", reboot`,
		`run grubby --update-kernel=ALL --remove-args="%s", reboot`},
	{"suse", "/etc/default/grub", "add %s to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run " +
		"grub2-mkconfig -o /boot/grub2/grub.cfg, reboot", "remove %s=... from GRUB_CMDLINE_LINUX* in " +
		"/etc/default/grub, run grub2-mkconfig -o /boot/grub2/grub.cfg, reboot"},
	{"debian", "/etc/default/grub", "add %s to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, " +
		"reboot", "remove %s=... from GRUB_CMDLINE_LINUX* in /etc/default/grub, run update-grub, reboot"},
	{"", "/etc/default/grub", "add %s to GRUB_CMDLINE_LINUX in /etc/default/grub, run grub-mkconfig -o " +
		"/boot/grub/grub.cfg, reboot", "remove %s=... from GRUB_CMDLINE_LINUX* in /etc/default/grub, run " +
		"grub-mkconfig -o /boot/grub/grub.cfg, reboot"},
	{"", "/etc/kernel/cmdline", "add %s to /etc/kernel/cmdline, run kernel-install add-all, reboot",
		"remove %s=... from /etc/kernel/cmdline, run kernel-install add-all, reboot"}, // systemd-boot
	{"", "/boot/loader/loader.conf", "add %s to the line options of the entry in /boot/loader/entries, " +
		"reboot", "remove %s=... from the line options of the entry in /boot/loader/entries, reboot"},
	{"", "/etc/zipl.conf", "add %s to parameters in /etc/zipl.conf, run zipl, reboot",
		"remove %s=... from parameters in /etc/zipl.conf, run zipl, reboot"}, // IBM's mainframes
	{"debian", "/etc/default/u-boot", "add %s to U_BOOT_PARAMETERS in /etc/default/u-boot, run " +
		"u-boot-update, reboot", // which writes the next one
		"remove %s=... from U_BOOT_PARAMETERS in /etc/default/u-boot, run u-boot-update, reboot"},
	{"", "/boot/extlinux/extlinux.conf", "add %s to the lines append in /boot/extlinux/extlinux.conf, reboot",
		"remove %s=... from the lines append in /boot/extlinux/extlinux.conf, reboot"},
	{"", "", "add %s to the kernel's command line in the boot loader's configuration, reboot",
		"remove %s=... from the kernel's command line in the boot loader's configuration, reboot"},
}

// kernelArgument returns instructions to add an argument to the kernel's command line on this
// system.
func kernelArgument(h host.Host, argument string) string { return bootRemedy(h, argument, false) }

// wsl stands for a distribution whose kernel Windows starts.
const wsl = "wsl"

// bootRemedy returns instructions to add an argument, or to remove the one of that name.
func bootRemedy(h host.Host, argument string, remove bool) string {
	distribution, platform := h.Distribution(), probe.PlatformOf(h)
	if platform.WSL {
		distribution = wsl
	}
	for _, l := range loaders {
		if _, err := h.Root.Read(l.file); l.distribution != "" && l.distribution != distribution ||
			l.file != "" && err != nil {
			continue
		}
		text := l.add
		if remove {
			text = l.remove
		}
		text = fmt.Sprintf(text, argument)
		if name, _, _ := strings.Cut(argument, "="); !remove {
			line, _ := h.Root.Read("/proc/cmdline") // "" has no argument
			for _, word := range strings.Fields(line) {
				if strings.HasPrefix(word, name+"=") {
					text += "; it replaces " + word
				}
			}
		}
		if platform.Container {
			return "on the host of this container: " + text
		}
		return text
	}
	return ""
}
