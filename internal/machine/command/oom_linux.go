package command

import (
	"fmt"
	"os"
	"strings"
)

// Expendable lets the kernel's OOM killer choose the process pid as any other. krund's unit exempts
// krund from it (OOMScoreAdjust=), and a process inherits that: one that used up all memory would
// have all others killed, or end in a panic of the kernel (proc_pid_oom_score_adj(5)). What the
// process has started before is not changed, so call it at once. It does nothing if this process is
// not exempt.
func Expendable(pid int) {
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil || !strings.HasPrefix(string(own), "-") {
		return
	}
	// an error: the process has ended
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("0"), 0)
}
