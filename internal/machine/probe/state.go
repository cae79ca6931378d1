package probe

import (
	"context"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
)

// StatePrefix begins the names of a fingerprint's entries that are settings of the kernel, the
// firmware and the power source, which anybody may change: a change is a remark.
const StatePrefix = "state."

// How an entry of stateFiles shows its files.
const (
	whole  = iota // the text
	choice        // the word in brackets or parentheses
	hashed        // a hash of the text: it is long, or its lines are in any order
	firsts        // a hash of the first words of its lines, sorted
	named         // a hash of names and texts of all files
)

// moving are files of /proc/sys that change by themselves, or do something when they are read.
var moving = []string{"ns_last_pid", "perf_event_max_sample_rate", "hung_task_detect_count", "tainted",
	"stat_refresh", "cad_pid"}

// stateFiles are what is recorded beside what krund controls: each changes results on some machine,
// and a published experiment should say what it was. A pattern with several files has the distinct
// values; of a file with a # only the lines that begin with what follows it.
var stateFiles = []struct {
	name, pattern string
	form          int
}{
	{"sched.preempt", "/sys/kernel/debug/sched/preempt", choice},
	{"sched.base_slice_ns", "/sys/kernel/debug/sched/base_slice_ns", whole},
	{"sched.slice", "/proc/self/sched#se.slice", whole},
	{"sched.tunable_scaling", "/sys/kernel/debug/sched/tunable_scaling", whole},
	{"sched.features", "/sys/kernel/debug/sched/features", hashed},
	{"sched.itmt", "/proc/sys/kernel/sched_itmt_enabled", whole},
	{"sched.autogroup", "/proc/sys/kernel/sched_autogroup_enabled", whole},
	{"sched.schedstats", "/proc/sys/kernel/sched_schedstats", whole},
	{"sched.ext", "/sys/kernel/sched_ext/state", whole},
	{"sched.ext_ops", "/sys/kernel/sched_ext/root/ops", whole},
	{"rcu.expedited", "/sys/kernel/rcu_expedited", whole},
	{"rcu.normal", "/sys/kernel/rcu_normal", whole},
	{"rcu.parameters", "/sys/module/rcutree/parameters/*", named},
	{"workqueue.cpumask", "/sys/devices/virtual/workqueue/cpumask", whole},
	{"thp.enabled", "/sys/kernel/mm/transparent_hugepage/enabled", choice},
	{"thp.defrag", "/sys/kernel/mm/transparent_hugepage/defrag", choice},
	{"thp.shmem", "/sys/kernel/mm/transparent_hugepage/shmem_enabled", choice},
	{"thp.sizes", "/sys/kernel/mm/transparent_hugepage/hugepages-*kB/enabled", choice},
	{"thp.shmem_sizes", "/sys/kernel/mm/transparent_hugepage/hugepages-*kB/shmem_enabled", choice},
	{"mm.compaction", "/proc/sys/vm/compaction_proactiveness", whole},
	{"mm.watermark_boost", "/proc/sys/vm/watermark_boost_factor", whole},
	{"mm.swappiness", "/proc/sys/vm/swappiness", whole},
	{"mm.zswap", "/sys/module/zswap/parameters/enabled", whole},
	{"mm.lru_gen", "/sys/kernel/mm/lru_gen/enabled", whole},
	{"mm.damon", "/sys/module/damon_*/parameters/enabled", whole},
	{"kernel.split_lock_mitigate", "/proc/sys/kernel/split_lock_mitigate", whole},
	{"kernel.soft_watchdog", "/proc/sys/kernel/soft_watchdog", whole},
	{"kernel.delayacct", "/proc/sys/kernel/task_delayacct", whole},
	{"kernel.bpf_stats", "/proc/sys/kernel/bpf_stats_enabled", whole},
	{"kernel.tracer", "/sys/kernel/tracing/current_tracer", whole},
	{"kernel.tainted", "/proc/sys/kernel/tainted", whole},
	{"kernel.lockdown", "/sys/kernel/security/lockdown", choice},
	{"kernel.lsm", "/sys/kernel/security/lsm", whole},
	{"kernel.modules", "/proc/modules", firsts},
	{"kernel.traced_functions", "/sys/kernel/tracing/enabled_functions", firsts},
	{"kernel.sysctl", "/proc/sys/kernel/*", named},
	{"mm.sysctl", "/proc/sys/vm/*", named},
	{"kernel.config", "/boot/config-" + release, hashed},
	{"kernel.config_gz", "/proc/config.gz", hashed},
	{"kernel.seccomp", "/proc/self/status#Seccomp:", whole},
	{"cpuidle.driver", "/sys/devices/system/cpu/cpuidle/current_driver", whole},
	{"cpuidle.governor", "/sys/devices/system/cpu/cpuidle/current_governor", whole},
	{"cpufreq.amd_pstate", "/sys/devices/system/cpu/amd_pstate/status", whole},
	{"cpufreq.prefcore", "/sys/devices/system/cpu/amd_pstate/prefcore", whole},
	{"cpufreq.prefcore_ranking", host.CPUFreqDir + "/policy*/amd_pstate_prefcore_ranking", hashed},
	{"cpufreq.epp", host.CPUFreqDir + "/policy*/energy_performance_preference", whole},
	{"cpufreq.boost", host.CPUFreqDir + "/policy*/boost", whole},
	{"cpufreq.intel_pstate", "/sys/devices/system/cpu/intel_pstate/*", named},
	{"uncore.efficiency", "/sys/devices/system/cpu/intel_uncore_frequency/*/elc_*", named},
	{"cpufreq.base", host.CPUFreqDir + "/policy*/base_frequency", whole},
	{"cpuidle.resume_latency", "/sys/devices/system/cpu/cpu[0-9]*/power/pm_qos_resume_latency_us", whole},
	{"cpuidle.states_off", "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/disable", whole},
	{"cpu.speculation", "/proc/self/status#Speculation", whole},
	{"cpu.microcode", "/sys/devices/system/cpu/cpu[0-9]*/microcode/version", whole},
	{"cpu.sme_vector", "/proc/sys/abi/sme_default_vector_length", whole},
	{"cpu.sve_vector", "/proc/sys/abi/sve_default_vector_length", whole},
	{"cpu.machine_check_interval", "/sys/devices/system/machinecheck/machinecheck0/check_interval", whole},
	{"numa.nodes", "/sys/devices/system/node/node[0-9]*/cpulist", whole},
	{"cache.l3_size", "/sys/devices/system/cpu/cpu[0-9]*/cache/index3/size", whole},
	{"cache.resctrl", "/sys/fs/resctrl/schemata", whole},
	{"cache.resctrl_groups", "/sys/fs/resctrl/*/schemata", hashed},
	{"cache.l3", "/sys/devices/system/cpu/cpu[0-9]*/cache/index3/shared_cpu_list", whole},
	{"power.profile", "/sys/firmware/acpi/platform_profile", whole},
	{"power.online", "/sys/class/power_supply/*/online", whole},
	{"firmware.attributes", "/sys/class/firmware-attributes/*/attributes/*/current_value", hashed},
}

// release stands for the kernel's release in a pattern.
const release = "RELEASE"

// ReadState reads stateFiles and the flags of the processor that a clock depends on. What does not
// exist, or cannot be read, has no entry.
func ReadState(h host.Host) Fingerprint {
	state := Fingerprint{}
	running, _ := h.Root.Read("/proc/sys/kernel/osrelease") // "" finds no file
	for _, s := range stateFiles {
		pattern, begin, _ := strings.Cut(s.pattern, "#")
		files, err := h.Root.Glob(strings.Replace(pattern, release, running, 1))
		if err != nil {
			continue
		}
		var values []string
		for _, file := range files {
			if slices.Contains(moving, path.Base(file)) && s.form == named {
				continue
			}
			text, err := h.Root.Read(file)
			if begin != "" {
				text = linesWith(text, begin)
			}
			if err == nil && (text != "" || begin == "") {
				values = append(values, textOf(s.form, file, text))
			}
		}
		if s.form == hashed && len(values) > 1 || s.form == named && len(values) > 0 {
			values = []string{digest(strings.Join(values, "\n"))}
		}
		slices.Sort(values)
		if values = slices.Compact(values); len(values) > 0 {
			state[StatePrefix+s.name] = display.PlainLine(display.Head(strings.Join(values, ", "), mostState))
		}
	}
	if cpuinfo, err := h.Root.Read("/proc/cpuinfo"); err == nil && host.IsX86(cpuinfo) {
		for _, flag := range []string{"constant_tsc", "nonstop_tsc"} {
			state[StatePrefix+"cpu."+flag] = fmt.Sprint(host.CPUFlag(cpuinfo, flag))
		}
	}
	if h.Root.IsMachine() {
		state[StatePrefix+"clock.reading"] = clockReading()
		askKernel(state)
		state[StatePrefix+"mm.page_size"] = fmt.Sprint(os.Getpagesize())
	}
	for name, options := range map[string][]string{"hz": {"CONFIG_HZ"}, "preempt_model": {
		"CONFIG_PREEMPT_NONE", "CONFIG_PREEMPT_VOLUNTARY", "CONFIG_PREEMPT", "CONFIG_PREEMPT_LAZY",
		"CONFIG_PREEMPT_RT"}} {
		for _, option := range options {
			if line := h.KernelOption(option); strings.Contains(line, "=") {
				state[StatePrefix+"kernel."+name] = line
			}
		}
	}
	return state
}

// slowClock is what a reading of the clock takes that makes a system call, or that a hypervisor or
// a filter of system calls traps. Without, it takes 20 to 100 ns.
const slowClock = 300 * time.Nanosecond

// clockReading says what a reading of the clock costs: the least mean of several batches.
func clockReading() string {
	const batches, readings = 10, 100
	least := time.Duration(math.MaxInt64)
	for range batches {
		begin := time.Now()
		for range readings {
			_ = time.Now()
		}
		least = min(least, time.Since(begin)/readings)
	}
	if least < slowClock {
		return "below " + slowClock.String()
	}
	return "slow: " + least.Round(slowClock).String()
}

// mostState is how many bytes of a value are kept.
const mostState = 200

// linesWith returns the lines that begin with a text, their white space made single.
func linesWith(text, begin string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, begin) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(lines, ", ")
}

func textOf(form int, file, text string) string {
	text = strings.TrimSpace(text)
	switch form {
	case choice:
		for _, word := range strings.Fields(text) {
			if in := strings.Trim(word, "[]()"); in != word {
				if size := path.Base(path.Dir(file)); strings.HasPrefix(size, "hugepages-") {
					return strings.TrimPrefix(size, "hugepages-") + " " + in
				}
				return in
			}
		}
	case hashed:
		return digest(text)
	case named:
		return path.Base(file) + "=" + text
	case firsts:
		if text == "" {
			return "none"
		}
		var words []string
		for line := range strings.Lines(text) {
			first, _, _ := strings.Cut(line, " ")
			words = append(words, first)
		}
		slices.Sort(words)
		return digest(strings.Join(words, "\n"))
	}
	return text
}

func digest(text string) string {
	const enough = 16
	return hashOf([]byte(text))[:enough]
}

// CheckScheduler returns the row about a scheduler of sched_ext: under one, a nice value, a weight
// and a place mean what that program makes of them.
func CheckScheduler(_ context.Context, h host.Host) setting.Finding {
	f := setting.Finding{Name: "scheduler", Policy: setting.Warn, Status: setting.StatusOK,
		Found: "the kernel's", Wanted: "the kernel's",
		Why: "under another scheduler nice values, weights and binding mean something else"}
	if state, err := h.Root.Read("/sys/kernel/sched_ext/state"); err == nil && state == "enabled" {
		ops, _ := h.Root.Read("/sys/kernel/sched_ext/root/ops") // "" is as good
		f.Status, f.Found = setting.StatusDiffers, strings.TrimSpace("sched_ext "+ops)
		f.Fix = "stop the program that loaded it (scx_loader, scx.service) while measuring"
	}
	return f
}
