package control

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"krund/internal/sysroot"
)

// kernelArgument says how to add an argument to the kernel's command line on this system.
func kernelArgument(root sysroot.Root, argument string) string {
	switch distribution(root) {
	case "debian":
		return fmt.Sprintf("add %s to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, reboot", argument)
	case "fedora":
		return fmt.Sprintf(`run grubby --update-kernel=ALL --args="%s", reboot`, argument)
	}
	return fmt.Sprintf("add %s to the kernel's command line in the boot loader's configuration, reboot", argument)
}

// withoutArgument says how to remove one.
func withoutArgument(root sysroot.Root, name string) string {
	switch distribution(root) {
	case "debian":
		return fmt.Sprintf("remove %s=... from GRUB_CMDLINE_LINUX* in /etc/default/grub, run update-grub, reboot", name)
	case "fedora":
		return fmt.Sprintf(`run grubby --update-kernel=ALL --remove-args="%s", reboot`, name)
	}
	return fmt.Sprintf("remove %s=... from the kernel's command line in the boot loader's configuration, reboot", name)
}

// distribution returns "debian" or "fedora" for systems of these families, else "".
func distribution(root sysroot.Root) string {
	text, err := root.Read("/etc/os-release")
	if err != nil {
		return ""
	}
	return parseFamily(text)
}

// parseFamily reads ID and ID_LIKE of os-release(5).
func parseFamily(text string) string {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name != "ID" && name != "ID_LIKE" {
			continue
		}
		for _, id := range strings.Fields(strings.Trim(value, `"'`)) {
			switch id {
			case "debian", "ubuntu":
				return "debian"
			case "fedora", "rhel", "centos":
				return "fedora"
			}
		}
	}
	return ""
}

// kernelOption returns the line that sets an option in the configuration that the running kernel was built from, "" when that is not at
// hand. It is an explanation for people: what the kernel can do is read from the kernel itself.
func kernelOption(root sysroot.Root, option string) string {
	release, err := root.Read("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	if data, err := root.ReadBytes("/boot/config-" + release); err == nil {
		return parseKernelOption(string(data), option)
	}
	packed, err := root.ReadBytes("/proc/config.gz")
	if err != nil {
		return ""
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ""
	}
	const most = 4 << 20 // a full configuration has about 300 KiB
	data, err := io.ReadAll(io.LimitReader(unpacked, most))
	if err != nil {
		return ""
	}
	return parseKernelOption(string(data), option)
}

// parseKernelOption finds "OPTION=y" or "# OPTION is not set".
func parseKernelOption(config, option string) string {
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, option+"=") {
			return line
		}
		if line == "# "+option+" is not set" {
			return strings.TrimPrefix(line, "# ")
		}
	}
	return ""
}
