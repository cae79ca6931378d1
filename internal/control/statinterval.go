package control

import (
	"strconv"

	"krund/internal/setting"
)

// StatIntervalSettings asks for rare updates of the kernel's memory statistics.
type StatIntervalSettings struct {
	Policy  setting.Policy
	Seconds int
}

// statInterval sets vm.stat_interval.
func statInterval(s StatIntervalSettings) Control {
	const file = "/proc/sys/vm/stat_interval"
	return Control{
		Name: "stat_interval", Policy: s.Policy, targets: files(isNumber, file),
		Why:  "once a second each CPU is interrupted to gather memory statistics",
		plan: sysfile{path: file, want: strconv.Itoa(s.Seconds), unit: " s"}.plan,
	}
}
