package control

import (
	"fmt"
	"strings"

	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

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
