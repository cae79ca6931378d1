package control

import "krund/internal/setting"

// NMIWatchdogSettings asks for the NMI watchdog off.
type NMIWatchdogSettings struct{ Policy setting.Policy }

// nmiWatchdog sets kernel.nmi_watchdog to 0.
func nmiWatchdog(s NMIWatchdogSettings) Control {
	const file = "/proc/sys/kernel/nmi_watchdog"
	return Control{
		Name: "nmi_watchdog", Policy: s.Policy, targets: files(isNumber, file),
		Why: "the watchdog interrupts every CPU and occupies a hardware counter",
		plan: sysfile{path: file, want: "0",
			absent: "the kernel has no hard lockup detector"}.plan,
	}
}
