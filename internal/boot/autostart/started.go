package autostart

import (
	"slices"
	"strings"

	"krund/internal/machine/sysroot"
)

// InUnit reports whether this process is in the control group of a systemd unit: systemd started
// it, or the process that started it, for that unit. A variable of the environment would not prove
// that: programs inherit it, and people set it. root are the machine's files; without /proc the
// answer is no, and so it is for the name "".
func InUnit(unit string, root sysroot.Root) bool {
	text, err := root.Read("/proc/self/cgroup")
	return err == nil && inGroup(text, unit)
}

// inGroup looks for the unit in the text of /proc/PID/cgroup, cgroups(7): for each hierarchy a line
// ID:CONTROLLERS:PATH. systemd names the groups of units after them, below those of their slices.
func inGroup(text, unit string) bool {
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		_, path, _ := strings.Cut(rest, ":")
		if unit != "" && slices.Contains(strings.Split(path, "/"), unit) {
			return true
		}
	}
	return false
}

// HasSystemd reports whether systemd has booted the machine, sd_booted(3): only then can units be
// enabled.
func HasSystemd(root sysroot.Root) bool { return root.Exists("/run/systemd/system") }
