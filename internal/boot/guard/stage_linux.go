package guard

import (
	"os"

	"krund/internal/machine/host"
)

// settle binds this thread, and what it starts, to the CPUs, and excludes it from the kernel's
// choice when memory runs out. Errors are ignored: a guard without either is better than none.
func settle(cpus []int) {
	if len(cpus) > 0 {
		_ = host.Bind(0, cpus)
	}
	const never = "-1000" // proc_pid_oom_score_adj(5); only root may
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(never), 0)
}
