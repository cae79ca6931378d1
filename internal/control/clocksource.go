package control

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
)

const clocksourceDir = "/sys/devices/system/clocksource/clocksource0"

// clocksource checks which counter the kernel's clock reads. On x86 all but those of vdsoClocks
// take a microsecond and a system call to read instead of 20 to 40 ns. krund does not set it: the
// kernel removes a TSC that its watchdog found unstable (kernel/time/clocksource.c of Linux 6.12,
// __clocksource_unstable), and another counter in the middle of an experiment changes what is
// measured.
var clocksource = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "clocksource", Policy: setting.Warn,
		Brief: "the clock reads the processor's time stamp counter",
		Why:   "hpet and acpi_pm take up to a microsecond to read, in a system call",
		Options: []setting.Option{{
			Name: "name", Default: "", Shape: regexp.MustCompile(`^[a-z0-9_-]*$`), Example: "tsc",
			Values: "name", Doc: "the clock source; `\"\"` is one that x86 reads without a system call " +
				"(`tsc`, `kvm-clock`, Hyper-V's), and any on other processors",
		}},
		What: "`clocksource0/current_clocksource`",
		Notes: "only checked, never set; read again after each run, because the kernel may drop an " +
			"unstable counter in the middle of one",
	},
	plan: planClocksource,
}

// vdsoClocks are the clock sources of x86 that are read without a system call (VDSO_CLOCKMODE_* in
// arch/x86/include/asm/vdso/clocksource.h; drivers/clocksource/hyperv_timer.c of Linux 6.12:503).
var vdsoClocks = []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"}

func planClocksource(_ context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	name := d.Text("name")
	wanted := name
	if name == "" {
		wanted = "any"
	}
	now, err := m.Root.Read(clocksourceDir + "/current_clocksource")
	list, err2 := m.Root.Read(clocksourceDir + "/available_clocksource")
	if err := cmp.Or(err, err2); err != nil {
		return unreadable(wanted, err)
	}
	available := strings.Fields(list)
	x86 := slices.ContainsFunc(available, func(s string) bool {
		return slices.Contains([]string{"tsc", "hpet", "acpi_pm", "kvm-clock"}, s)
	})
	if name == "" && x86 {
		wanted = "tsc, or a hypervisor's"
	}
	switch {
	case now == name || name == "" && (!x86 || slices.Contains(vdsoClocks, now)):
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
