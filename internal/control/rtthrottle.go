package control

import "strconv"

// RTThrottleSettings asks for a bound on real-time threads.
type RTThrottleSettings struct {
	Policy  Policy
	Runtime int // microseconds of each period that real-time threads may use; -1 is no bound
}

// rtThrottle sets kernel.sched_rt_runtime_us. It matters only to benchmarks that run under a real-time policy.
func rtThrottle(s RTThrottleSettings) Control {
	return Control{
		Name: "rt_throttle", Policy: s.Policy,
		Why:  "real-time threads are stopped for 50 ms of each second",
		plan: sysfile{path: "/proc/sys/kernel/sched_rt_runtime_us", want: strconv.Itoa(s.Runtime), unit: " us"}.plan,
	}
}
