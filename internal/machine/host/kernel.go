package host

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strconv"
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

// Meminfo holds the values of /proc/meminfo by name, in bytes; HugePages_Total is in pages.
type Meminfo map[string]int64

// ReadMeminfo reads /proc/meminfo.
func (h Host) ReadMeminfo() (Meminfo, error) {
	text, err := h.Root.Read("/proc/meminfo")
	if err != nil {
		return nil, err
	}
	return parseMeminfo(text), nil
}

// parseMeminfo reads the lines "Name:  123 kB"; it skips lines of another form.
func parseMeminfo(text string) Meminfo {
	m := Meminfo{}
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if !found || len(fields) == 0 {
			continue
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || n < 0 || n > 1<<50 {
			continue
		}
		if len(fields) > 1 && fields[1] == "kB" {
			n *= 1024
		}
		m[strings.TrimSpace(name)] = n
	}
	return m
}

// Ordinary returns the memory that is not reserved for huge pages, in bytes. Hugetlb counts huge
// pages of all sizes; kernels before 4.19 count those of the usual size only.
func (m Meminfo) Ordinary() int64 {
	huge, known := m["Hugetlb"]
	if !known {
		huge = m["HugePages_Total"] * m["Hugepagesize"]
	}
	return max(m["MemTotal"]-huge, 0)
}

// MemoryEvents returns what the memory management has counted since the boot, by its names
// (/proc/vmstat, mm/vmstat.c); empty if that is unknown.
func (h Host) MemoryEvents() map[string]uint64 {
	text, _ := h.Root.Read("/proc/vmstat") // "" has no rows
	events := map[string]uint64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			events[name] = n
		}
	}
	return events
}
