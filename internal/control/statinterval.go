package control

import (
	"fmt"

	"krund/internal/config/setting"
)

const statIntervalFile = "/proc/sys/vm/stat_interval"

// statInterval sets vm.stat_interval.
var statInterval = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "stat_interval", Policy: setting.Off,
		Brief: "infrequent updates of memory statistics",
		Why:   "each CPU is interrupted once a second to collect memory statistics",
		Options: []setting.Option{{
			Name: "seconds", Default: int64(120), Min: 1, Max: 1_000_000, Doc: "seconds between updates",
		}},
		What: "`vm.stat_interval`",
	},
	targets: files(isNumber, statIntervalFile),
	plan: func(d setting.Demand, _ Request) planner {
		return sysfile{path: statIntervalFile, want: fmt.Sprint(d.Whole("seconds")), unit: " s"}.plan
	},
}
