package control

import (
	"fmt"

	"krund/internal/experiment/config/setting"
)

// number is a control of one file of the kernel that holds a number. Without a wanted value in f,
// the only option of the control has it.
func number(d setting.Descriptor, f sysfile) Descriptor {
	return Descriptor{
		Descriptor: d,
		targets:    files(isNumber, f.path),
		plan: func(demand setting.Demand, _ Request) planner {
			wanted := f
			if f.want == "" {
				wanted.want = fmt.Sprint(demand.Whole(d.Options[0].Name))
			}
			return wanted.plan
		},
	}
}

// nmiWatchdog sets kernel.nmi_watchdog to 0.
var nmiWatchdog = number(setting.Descriptor{
	Name: "nmi_watchdog", Policy: setting.Apply,
	Brief: "no NMI watchdog",
	Why:   "the watchdog interrupts every CPU and occupies a hardware counter",
	What:  "`kernel.nmi_watchdog` = 0",
}, sysfile{path: "/proc/sys/kernel/nmi_watchdog", want: "0",
	absent: "the kernel has no hard lockup detector"})

// aslr sets kernel.randomize_va_space (docs.kernel.org, admin-guide/sysctl/kernel).
var aslr = number(setting.Descriptor{
	Name: "aslr", Policy: setting.Require,
	Brief: "address space layout randomization as configured",
	Why:   "with a fixed memory layout all executions share its bias; random layouts sample it",
	Options: []setting.Option{{
		Name: "value", Default: int64(2), Max: 2, Doc: "0 none, 1 stack and libraries, 2 also the heap",
	}},
	What:  "`kernel.randomize_va_space`",
	Notes: "2 in the study: 30 executions sample 30 layouts",
}, sysfile{path: "/proc/sys/kernel/randomize_va_space"})

const (
	khugepagedFile = thpDir + "/khugepaged/scan_sleep_millisecs"
	// the largest value of the file: the kernel then waits without end (mm/khugepaged.c of Linux
	// 6.1:2497, 6.12:2565; msecs_to_jiffies returns MAX_JIFFY_OFFSET for it)
	khugepagedNever = "4294967295"
)

// khugepaged lets the kernel thread khugepaged sleep. It cannot be switched off alone:
// pages_to_scan rejects 0 (mm/khugepaged.c of Linux 6.1:207). Each write to the file wakes it once,
// so it scans once more before the run.
var khugepaged = number(setting.Descriptor{
	Name: "khugepaged", Policy: setting.Off,
	Brief: "no background merging into huge pages",
	Why: "a kernel thread scans the memory of programs and stops them while it merges their pages " +
		"into huge ones",
	What:  "`transparent_hugepage/khugepaged/scan_sleep_millisecs` = 4294967295",
	Notes: "programs still get huge pages when they first use memory, as `thp` permits",
}, sysfile{path: khugepagedFile, want: khugepagedNever, unit: " ms",
	absent: "the kernel has no transparent huge pages"})

// numaBalancing sets kernel.numa_balancing to 0.
var numaBalancing = number(setting.Descriptor{
	Name: "numa_balancing", Policy: setting.Off,
	Brief: "no migration of pages between nodes",
	Why: "the kernel periodically unmaps pages to detect their users, and migrates pages between " +
		"nodes",
	What: "`kernel.numa_balancing` = 0",
}, sysfile{path: "/proc/sys/kernel/numa_balancing", want: "0",
	absent: "the kernel does not balance memory between nodes"})

// writeback sets vm.dirty_writeback_centisecs to 0: the kernel's flusher threads no longer wake by
// themselves while measuring. krund syncs the disks before a run, and sync(2) still works.
var writeback = number(setting.Descriptor{
	Name: "writeback", Policy: setting.Off,
	Brief: "no periodic writeback of dirty pages while measuring",
	Why:   "flusher threads wake every five seconds to write dirty pages to the disk",
	What:  "`vm.dirty_writeback_centisecs` = 0",
	Notes: "krund syncs the disks before a run; `sync` still works",
}, sysfile{path: "/proc/sys/vm/dirty_writeback_centisecs", want: "0"})

// statInterval sets vm.stat_interval.
var statInterval = number(setting.Descriptor{
	Name: "stat_interval", Policy: setting.Off,
	Brief: "infrequent updates of memory statistics",
	Why:   "each CPU is interrupted once a second to collect memory statistics",
	Options: []setting.Option{{
		Name: "seconds", Default: int64(120), Min: 1, Max: 1_000_000, Doc: "seconds between updates",
	}},
	What: "`vm.stat_interval`",
}, sysfile{path: "/proc/sys/vm/stat_interval", unit: " s"})

// rtThrottle sets kernel.sched_rt_runtime_us. It matters only to benchmarks that run under a
// real-time policy.
var rtThrottle = number(setting.Descriptor{
	Name: "rt_throttle", Policy: setting.Off,
	Brief: "no throttling of real-time threads",
	Why:   "real-time threads are stopped for 50 ms of each second",
	Options: []setting.Option{{
		Name: "runtime_us", Default: int64(-1), Min: -1, Max: 1_000_000,
		Doc: "microseconds of each period that real-time threads may use; -1 is no limit",
	}},
	What:  "`kernel.sched_rt_runtime_us`",
	Notes: "matters only to benchmarks that have real-time threads",
}, sysfile{path: "/proc/sys/kernel/sched_rt_runtime_us", unit: " us"})

const timerMigrationFile = "/proc/sys/kernel/timer_migration"

// timerMigration sets kernel.timer_migration (kernel/time/timer.c of Linux 6.1:233, 6.12:285): if
// it is 1, timers that an idle CPU arms are queued on, or since Linux 6.9 expired by, one that is
// busy.
var timerMigration = number(setting.Descriptor{
	Name: "timer_migration", Policy: setting.Off,
	Brief: "timers of idle CPUs stay on them",
	Why:   "the timers of idle CPUs interrupt a busy one, which runs the benchmark",
	What:  "`kernel.timer_migration` = 0",
}, sysfile{path: timerMigrationFile, want: "0",
	absent: "the kernel does not move timers between CPUs"})
