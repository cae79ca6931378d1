package control

import "krund/internal/config/setting"

const timerMigrationFile = "/proc/sys/kernel/timer_migration"

// timerMigration sets kernel.timer_migration (kernel/time/timer.c of Linux 6.1:233, 6.12:285): if
// it is 1, timers that an idle CPU arms are queued on, or since Linux 6.9 expired by, one that is
// busy.
var timerMigration = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "timer_migration", Policy: setting.Off,
		Brief: "timers of idle CPUs stay on them",
		Why:   "the timers of idle CPUs interrupt a busy one, which runs the benchmark",
		What:  "`kernel.timer_migration` = 0",
	},
	targets: files(isNumber, timerMigrationFile),
	plan: fixed(sysfile{path: timerMigrationFile, want: "0",
		absent: "the kernel does not move timers between CPUs"}.plan),
}
