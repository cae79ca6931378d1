package guard

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// self is the running program, even when its file has been replaced meanwhile.
func self() (string, error) { return "/proc/self/exe", nil }

// Is tells whether a process of this machine is a guard. False also when it is gone.
func Is(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(text), name+"\x00")
}

// settle ties this thread, and what it starts, to the CPUs, and keeps the kernel from choosing it
// when memory runs out. Neither is worth going without a guard for.
func settle(cpus []int) {
	if len(cpus) > 0 {
		var set unix.CPUSet
		for _, n := range cpus {
			set.Set(n)
		}
		_ = unix.SchedSetaffinity(0, &set)
	}
	const never = "-1000" // proc_pid_oom_score_adj(5); only root may
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(never), 0)
}
