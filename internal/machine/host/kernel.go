package host

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// Distribution returns "debian" or "fedora" for systems of these families, else "".
func (h Host) Distribution() string {
	text, err := h.Root.Read("/etc/os-release")
	if err != nil {
		return ""
	}
	return parseDistribution(text)
}

// parseDistribution reads ID and ID_LIKE of os-release(5).
func parseDistribution(text string) string {
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
			case "suse", "opensuse", "sles":
				return "suse"
			}
		}
	}
	return ""
}

// KernelOption returns the line that sets an option in the configuration that the running kernel
// was built from, "" if the configuration is not available. It is used in explanations only:
// whether the kernel supports a feature is read from the kernel itself.
func (h Host) KernelOption(option string) string {
	release, err := h.Root.Read("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	if data, err := h.Root.ReadBytes("/boot/config-" + release); err == nil {
		return parseKernelOption(string(data), option)
	}
	packed, err := h.Root.ReadBytes("/proc/config.gz")
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

// KernelAtLeast reports whether the running kernel is of this version or a newer one. A release
// that cannot be read counts as older.
func (h Host) KernelAtLeast(major, minor int) bool {
	release, err := h.Root.Read("/proc/sys/kernel/osrelease")
	if err != nil {
		return false
	}
	var a, b int
	n, _ := fmt.Sscanf(release, "%d.%d", &a, &b)
	return n == 2 && (a > major || a == major && b >= minor)
}
