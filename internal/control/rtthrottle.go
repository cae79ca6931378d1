package control

import (
	"strconv"

	"krund/internal/setting"
)

// RTThrottleSettings asks for a bound on real-time threads.
type RTThrottleSettings struct {
	Policy  setting.Policy
	Runtime int // microseconds of each period that real-time threads may use; -1 is no bound
}

// rtThrottle sets kernel.sched_rt_runtime_us. It matters only to benchmarks that run under a real-time policy.
func rtThrottle(s RTThrottleSettings) Control {
	const file = "/proc/sys/kernel/sched_rt_runtime_us"
	return Control{
		Name: "rt_throttle", Policy: s.Policy, targets: files(isNumber, file),
		Why:  "real-time threads are stopped for 50 ms of each second",
		plan: sysfile{path: file, want: strconv.Itoa(s.Runtime), unit: " us"}.plan,
	}
}
