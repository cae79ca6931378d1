package control

import "krund/internal/config/setting"

const nmiWatchdogFile = "/proc/sys/kernel/nmi_watchdog"

// nmiWatchdog sets kernel.nmi_watchdog to 0.
var nmiWatchdog = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "nmi_watchdog", Policy: setting.Apply,
		Brief: "no NMI watchdog",
		Why:   "the watchdog interrupts every CPU and occupies a hardware counter",
		What:  "`kernel.nmi_watchdog` = 0",
	},
	targets: files(isNumber, nmiWatchdogFile),
	plan: fixed(sysfile{path: nmiWatchdogFile, want: "0",
		absent: "the kernel has no hard lockup detector"}.plan),
}
