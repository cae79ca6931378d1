package control

import (
	"fmt"

	"krund/internal/machine/host"
)

// kernelArgument returns instructions to add an argument to the kernel's command line on this
// system.
func kernelArgument(h host.Host, argument string) string {
	switch h.Distribution() {
	case "debian":
		return fmt.Sprintf("add %s to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, reboot",
			argument)
	case "fedora":
		return fmt.Sprintf(`run grubby --update-kernel=ALL --args="%s", reboot`, argument)
	}
	return fmt.Sprintf("add %s to the kernel's command line in the boot loader's configuration, reboot",
		argument)
}

// withoutArgument returns instructions to remove one.
func withoutArgument(h host.Host, name string) string {
	switch h.Distribution() {
	case "debian":
		return fmt.Sprintf("remove %s=... from GRUB_CMDLINE_LINUX* in /etc/default/grub, run "+
			"update-grub, reboot", name)
	case "fedora":
		return fmt.Sprintf(`run grubby --update-kernel=ALL --remove-args="%s", reboot`, name)
	}
	return fmt.Sprintf("remove %s=... from the kernel's command line in the boot loader's "+
		"configuration, reboot", name)
}
