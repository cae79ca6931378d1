package control

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/probe"
)

// number is a control of one file of the kernel that holds a number. Without a wanted value in f,
// the only option of the control has it.
func number(d setting.Descriptor, f sysfile) Descriptor {
	return Descriptor{
		Descriptor: d,
		targets:    files(isNumber, f.path),
		plan: func(ctx context.Context, m *Machine, demand setting.Demand, _ Request) Plan {
			wanted := f
			if f.want == "" {
				wanted.want = fmt.Sprint(demand.Whole(d.Options[0].Name))
			}
			return wanted.plan(ctx, m)
		},
	}
}

// nmiWatchdog sets kernel.nmi_watchdog to 0.
var nmiWatchdog = number(setting.Descriptor{
	Name: "nmi_watchdog", Policy: setting.Apply,
	Brief: "no NMI watchdog",
	Why:   "the watchdog interrupts every CPU, and may occupy a hardware counter",
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
	Why:   "the kernel periodically unmaps pages to detect their users, and migrates pages between nodes",
	What:  "`kernel.numa_balancing` = 0",
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

// compaction sets vm.compaction_proactiveness to 0: kcompactd then compacts memory only when a
// large allocation needs it, and no longer wakes twice a second (mm/compaction.c of Linux 6.12).
var compaction = number(setting.Descriptor{
	Name: "compaction", Policy: setting.Off,
	Brief: "no compaction of memory in advance",
	Why:   "a kernel thread moves pages of programs together, which have to wait for them meanwhile",
	What:  "`vm.compaction_proactiveness` = 0",
}, sysfile{path: "/proc/sys/vm/compaction_proactiveness", want: "0",
	absent: "the kernel does not compact memory in advance"})

// softWatchdog sets kernel.soft_watchdog to 0 (kernel/watchdog.c of Linux 6.12: a timer on each CPU
// that is not in nohz_full wakes a thread of the highest priority every four seconds).
var softWatchdog = number(setting.Descriptor{
	Name: "soft_watchdog", Policy: setting.Off,
	Brief: "no watchdog for programs that keep a CPU",
	Why:   "a thread of the highest priority interrupts each CPU every four seconds",
	What:  "`kernel.soft_watchdog` = 0",
}, sysfile{path: "/proc/sys/kernel/soft_watchdog", want: "0",
	absent: "the kernel has no soft lockup detector"})

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

// rtThrottle sets kernel.sched_rt_runtime_us, and since Linux 6.12 the time that the fair server of
// each CPU takes for ordinary threads: there the first one has no effect unless the kernel is built
// with CONFIG_RT_GROUP_SCHED (kernel/sched/rt.c:95-318, deadline.c, fair_server_init, and
// debug.c:344-443). It matters only to benchmarks that run under a real-time policy.
var rtThrottle = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "rt_throttle", Policy: setting.Off,
		Brief: "no throttling of real-time threads",
		Why:   "real-time threads are stopped for 50 ms of each second",
		Options: []setting.Option{{
			Name: "runtime_us", Default: int64(-1), Min: -1, Max: 1_000_000,
			Doc: "microseconds of each period that real-time threads may use; -1 is no limit",
		}},
		What: "`kernel.sched_rt_runtime_us`; with -1, since Linux 6.12, also the runtime of each CPU's " +
			"fair server in `/sys/kernel/debug/sched/fair_server`",
		Notes: "matters only to benchmarks that have real-time threads",
	},
	targets: files(isNumber, rtRuntimeFile, fairServerFiles),
	plan:    planRTThrottle,
}

const (
	rtRuntimeFile   = "/proc/sys/kernel/sched_rt_runtime_us"
	fairServerFiles = "/sys/kernel/debug/sched/*_server/cpu[0-9]*/runtime" // nanoseconds
)

func planRTThrottle(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
	want := fmt.Sprint(d.Whole("runtime_us"))
	p := sysfile{path: rtRuntimeFile, want: want, unit: " us"}.plan(ctx, m)
	if want != "-1" || !m.KernelAtLeast(6, 12) {
		return p
	}
	servers, err := m.Root.Glob(fairServerFiles)
	if err != nil || len(servers) == 0 {
		return cannot(p.Found, p.Wanted, "since Linux 6.12 the fair server of each CPU takes 50 ms of "+
			"each second, whatever this says, and its switch is in debugfs, which is not mounted",
			probe.PlatformOf(m.Host).Remedy("debugfs"))
	}
	var steps []Step
	on := map[string]host.CPUs{} // by the runtime of a server: there is one for each CPU
	for _, file := range servers {
		one := sysfile{path: file, want: "0", unit: " ns"}.plan(ctx, m)
		if one.Status == setting.StatusCannot {
			return cannot(p.Found, p.Wanted, one.Detail,
				"run as root; a kernel that is locked down (lockdown=) shows no debugfs")
		}
		if cpu, err := host.ParseCPUList(strings.TrimPrefix(path.Base(path.Dir(file)), "cpu")); err == nil &&
			one.Status != setting.StatusOK {
			on[one.Found] = on[one.Found].Plus(cpu)
		}
		steps = append(steps, one.Steps...)
	}
	for _, runtime := range slices.Sorted(maps.Keys(on)) {
		found := "servers of CPU " + on[runtime].String() + " " + runtime
		p = both(p, Plan{Status: setting.StatusWillSet, Found: found, Wanted: "servers 0 ns"},
			append(p.Steps, steps...))
		steps = nil
	}
	return p
}

const timerMigrationFile = "/proc/sys/kernel/timer_migration"

// timerMigration sets kernel.timer_migration (kernel/time/timer.c of Linux 6.1:233): if it is 1,
// timers that an idle CPU arms are queued on one that is busy. Since Linux 6.9 it is read for
// high-resolution timers only (kernel/time/hrtimer.c:231); the others of idle CPUs are expired by a
// busy one that ticks, whatever it says (timer_migration.c). Only a CPU whose tick has stopped
// leaves that hierarchy (timer.c:2290-2312).
var timerMigration = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "timer_migration", Policy: setting.Off,
		Brief: "timers of idle CPUs stay on them",
		Why:   "the timers of idle CPUs interrupt a busy one, which runs the benchmark",
		What:  "`kernel.timer_migration` = 0",
		Notes: "since Linux 6.9 for high-resolution timers only: the others stay away from a CPU that " +
			"does not tick, see `tickless`",
	},
	targets: files(isNumber, timerMigrationFile),
	plan: fixed(func(ctx context.Context, m *Machine) Plan {
		p := sysfile{path: timerMigrationFile, want: "0",
			absent: "the kernel does not move timers between CPUs"}.plan(ctx, m)
		if m.KernelAtLeast(6, 9) {
			p.Detail = join(p.Detail, "since Linux 6.9 for high-resolution timers only: `tickless` keeps "+
				"the others away", "; ")
		}
		return p
	}),
}

const (
	perfRateFile    = "/proc/sys/kernel/perf_event_max_sample_rate"
	perfPercentFile = "/proc/sys/kernel/perf_cpu_time_max_percent"
)

// perfRate sets kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent. The
// percentage comes first: while it is 0 or 100 the kernel rejects a new rate. For the same reason
// the rate is restored before the percentage.
var perfRate = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "perf_rate", Policy: setting.Require,
		Brief: "the lowest sampling rate of the kernel's profiler",
		Why:   "perf may interrupt a CPU 100000 times a second, and changes that rate by itself",
		Options: []setting.Option{
			{Name: "rate", Default: int64(1), Min: 1, Max: 1_000_000, Doc: "maximum number of samples " +
				"per second"},
			{Name: "percent", Default: int64(1), Min: 1, Max: 99, Doc: "maximum percentage of a CPU's time"},
		},
		What:  "`kernel.perf_cpu_time_max_percent`, then `kernel.perf_event_max_sample_rate`",
		Notes: "in that order: while the percentage is 0 or 100 the kernel rejects a new rate",
	},
	targets: files(isNumber, perfRateFile, perfPercentFile),
	plan: func(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
		percent := sysfile{path: perfPercentFile, want: fmt.Sprint(d.Whole("percent")), unit: " %"}
		rate := sysfile{path: perfRateFile, want: fmt.Sprint(d.Whole("rate")), unit: " Hz"}
		first, second := percent.plan(ctx, m), rate.plan(ctx, m)
		return both(second, first, append(first.Steps, second.Steps...))
	},
}

// both combines two plans of one control; steps are those of both, in order.
func both(a, b Plan, steps []Step) Plan {
	p := Plan{
		Status: a.Status,
		Found:  join(a.Found, b.Found, ", "),
		Wanted: join(a.Wanted, b.Wanted, ", "),
		Detail: join(a.Detail, b.Detail, "; "),
		Fix:    join(a.Fix, b.Fix, "; "),
	}
	if rank(b.Status) > rank(a.Status) {
		p.Status = b.Status
	}
	if p.Status == setting.StatusWillSet {
		p.Steps = steps
	}
	return p
}

const ksmFile = "/sys/kernel/mm/ksm/run"

// ksm sets /sys/kernel/mm/ksm/run: 0 stops merging and keeps what is merged, 2 splits merged pages
// as well (docs.kernel.org, admin-guide/mm/ksm).
var ksm = Descriptor{
	Descriptor: setting.Descriptor{
		Name: "ksm", Policy: setting.Off,
		Brief: "no merging of identical pages",
		Why:   "a kernel thread scans memory for identical pages, and a write to a merged page faults",
		Options: []setting.Option{{
			Name: "unmerge", Default: false,
			Doc: "split merged pages at once instead of at their next write",
		}},
		What: "`/sys/kernel/mm/ksm/run` = 0, or 2",
	},
	targets: files(isNumber, ksmFile),
	plan: func(ctx context.Context, m *Machine, d setting.Demand, _ Request) Plan {
		file := sysfile{path: ksmFile, want: "0", absent: "the kernel does not merge pages"}
		if d.Flag("unmerge") {
			file.want = "2"
		}
		p := file.plan(ctx, m)
		if p.Found == "2" && file.want == "0" {
			return ok("2", "0") // stopped, and nothing is merged: better than asked for
		}
		return p
	},
}
