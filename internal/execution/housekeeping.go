package execution

import (
	"slices"

	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
)

// housekeeping returns the processors for krund itself during a run: those that are online, not
// tickless (nohz_full), and not reserved for the benchmark. It returns nil if the processors do not
// differ, or none is left: krund then runs wherever the system schedules it.
func housekeeping(root sysroot.Root, benchmark []int) []int {
	taken := append(cpuList(root, "nohz_full"), benchmark...)
	online := cpuList(root, "online")
	var rest host.CPUs
	for _, cpu := range online {
		if !slices.Contains(taken, cpu) {
			rest = append(rest, cpu)
		}
	}
	if len(rest) == len(online) {
		return nil
	}
	return rest
}

// cpuList reads a list of processors; nil if it is unknown or empty.
func cpuList(root sysroot.Root, name string) host.CPUs {
	text, err := root.Read("/sys/devices/system/cpu/" + name)
	if err != nil {
		return nil
	}
	set, err := host.ParseCPUList(text)
	if err != nil {
		return nil
	}
	return set
}
