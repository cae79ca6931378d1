package control

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
)

const clocksourceDir = "/sys/devices/system/clocksource/clocksource0"

// clocksource checks which counter the kernel's clock reads. Without "tsc" on x86 a reading takes
// a microsecond and a system call instead of 20 ns. krund does not set it: the kernel removes a TSC
// that its watchdog found unstable (kernel/time/clocksource.c of Linux 6.12,
// __clocksource_unstable), and another counter in the middle of an experiment changes what is
// measured.
var clocksource = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "clocksource", Policy: setting.Off,
		Brief: "the clock reads the processor's time stamp counter",
		Why:   "other clocks take up to a microsecond to read, in a system call",
		Options: []setting.Option{{
			Name: "name", Default: "", Shape: regexp.MustCompile(`^[a-z0-9_-]*$`), Example: "tsc",
			Values: "name", Doc: "the clock source; `\"\"` is `tsc` on x86 and any on other processors",
		}},
		What:  "`clocksource0/current_clocksource`",
		Notes: "only checked, never set",
	},
	plan: func(d setting.Demand, _ Request) planner {
		return func(_ context.Context, m *Machine) Plan { return planClocksource(m, d.Text("name")) }
	},
}

func planClocksource(m *Machine, name string) Plan {
	wanted := name
	if name == "" {
		wanted = "tsc on x86"
	}
	now, err := m.Root.Read(clocksourceDir + "/current_clocksource")
	if err != nil {
		return unreadable(wanted, err)
	}
	list, err := m.Root.Read(clocksourceDir + "/available_clocksource")
	if err != nil {
		return unreadable(wanted, err)
	}
	available := strings.Fields(list)
	x86 := slices.ContainsFunc(available, func(s string) bool {
		return slices.Contains([]string{"tsc", "hpet", "acpi_pm", "kvm-clock"}, s)
	})
	switch {
	case now == name || name == "" && (now == "tsc" || !x86):
		return ok(now, wanted)
	case name == "":
		name = "tsc"
	}
	fix := "write " + name + " to " + clocksourceDir + "/current_clocksource before the experiment, or " +
		"boot with clocksource=" + name
	if !slices.Contains(available, name) {
		fix = "the kernel does not offer it (`dmesg | grep -i tsc` shows why): update the firmware, or " +
			"measure on another machine"
	}
	return cannot(now, wanted, "available: "+strings.Join(available, ", "), fix)
}
