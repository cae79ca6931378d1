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
		Why:   "once a second each CPU is interrupted to gather memory statistics",
		Options: []setting.Option{{
			Name: "seconds", Default: int64(120), Min: 1, Max: 1_000_000, Doc: "seconds between two updates",
		}},
		What: "`vm.stat_interval`",
	},
	targets: files(isNumber, statIntervalFile),
	plan: func(d setting.Demand, _ Request) planner {
		return sysfile{path: statIntervalFile, want: fmt.Sprint(d.Whole("seconds")), unit: " s"}.plan
	},
}
