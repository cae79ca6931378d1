package control

import (
	"fmt"

	"krund/internal/config/setting"
)

const rtThrottleFile = "/proc/sys/kernel/sched_rt_runtime_us"

// rtThrottle sets kernel.sched_rt_runtime_us. It matters only to benchmarks that run under a
// real-time policy.
var rtThrottle = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "rt_throttle", Policy: setting.Off,
		Brief: "no throttling of real-time threads",
		Why:   "real-time threads are stopped for 50 ms of each second",
		Options: []setting.Option{{
			Name: "runtime_us", Default: int64(-1), Min: -1, Max: 1_000_000,
			Doc: "microseconds of each period that real-time threads may use; -1 is no limit",
		}},
		What:  "`kernel.sched_rt_runtime_us`",
		Notes: "matters only to benchmarks that have real-time threads",
	},
	targets: files(isNumber, rtThrottleFile),
	plan: func(d setting.Demand, _ Request) planner {
		return sysfile{path: rtThrottleFile, want: fmt.Sprint(d.Whole("runtime_us")), unit: " us"}.plan
	},
}
