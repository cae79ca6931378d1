package control

import "krund/internal/config/setting"

const numaBalancingFile = "/proc/sys/kernel/numa_balancing"

// numaBalancing sets kernel.numa_balancing to 0.
var numaBalancing = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "numa_balancing", Policy: setting.Off,
		Brief: "no migration of pages between nodes",
		Why: "the kernel periodically unmaps pages to detect their users, and migrates pages between " +
			"nodes",
		What: "`kernel.numa_balancing` = 0",
	},
	targets: files(isNumber, numaBalancingFile),
	plan: fixed(sysfile{path: numaBalancingFile, want: "0",
		absent: "the kernel does not balance memory between nodes"}.plan),
}
