package execution

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/rig/must"
)

// TestWatcherNeedsCPU: on a machine with one CPU, [stop.iterations] is refused; without the section
// nothing is.
func TestWatcherNeedsCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	must.Do(t, unix.SchedGetaffinity(0, &before))
	cpu := child.Affinity()[0]
	only.Set(cpu)
	must.Do(t, unix.SchedSetaffinity(0, &only))
	defer func() { _ = unix.SchedSetaffinity(0, &before) }()
	e := Executor{Root: machine(t, map[string]string{"/sys/devices/system/cpu/online": fmt.Sprintln(cpu)})}
	cfg := &config.Config{}
	must.Do(t, e.CheckWatcher(cfg))
	cfg.Stop.Iterations.Criterion = config.CriterionCV
	const want = "[stop.iterations] needs a CPU that the benchmark does not use, and there is none: " +
		"remove the section, or measure on a machine with two CPUs"
	must.Refuse(t, e.CheckWatcher(cfg), want)
}
