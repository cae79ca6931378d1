package host

import (
	"strconv"
	"strings"
)

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
