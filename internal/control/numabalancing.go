package control

import "krund/internal/setting"

// NUMABalancingSettings asks for automatic NUMA balancing off.
type NUMABalancingSettings struct{ Policy setting.Policy }

// numaBalancing sets kernel.numa_balancing to 0.
func numaBalancing(s NUMABalancingSettings) Control {
	const file = "/proc/sys/kernel/numa_balancing"
	return Control{
		Name: "numa_balancing", Policy: s.Policy, targets: files(isNumber, file),
		Why: "the kernel unmaps pages now and then to see who uses them, and moves them between nodes",
		plan: sysfile{path: file, want: "0",
			absent: "the kernel does not balance memory between nodes"}.plan,
	}
}
