package control

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// check plans one control on a machine that consists of the given files.
func check(t *testing.T, c Control, files texts) setting.Finding {
	t.Helper()
	c.Policy = setting.Apply
	return c.Check(t.Context(), machineOf(files))
}

// machineOf returns a machine that consists of the given files.
func machineOf(files texts) *Machine {
	return &Machine{Host: host.Host{Root: sysroot.New("/nowhere").With(files)}}
}

// TestDisabledIdleState: the governor skips a state that is switched off, so its latency permits
// none but polling.
func TestDisabledIdleState(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	for cpu := range 4 {
		k.put(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/state1/disable", cpu), "1")
	}
	must.Equal(t, required(cstates).Check(t.Context(), m).Wanted, "at most 10 us to wake")
}

// TestNewerKernels: huge pages of each size since Linux 6.8, fair servers since 6.12. All of them
// are set and restored.
func TestNewerKernels(t *testing.T) {
	for _, tt := range []struct {
		d             Descriptor
		files         texts
		found, wanted string
	}{
		{thp, texts{thpDir + "/enabled": "always madvise [never]",
			thpDir + "/hugepages-64kB/enabled":  "[always] inherit madvise never",
			thpDir + "/hugepages-128kB/enabled": "always [inherit] madvise never"},
			"never, 64kB always", "never"},
		{rtThrottle, texts{rtRuntimeFile: "-1", "/proc/sys/kernel/osrelease": "6.12.38+deb13-amd64",
			"/sys/kernel/debug/sched/fair_server/cpu0/runtime": "50000000",
			"/sys/kernel/debug/sched/fair_server/cpu1/runtime": "0"},
			"-1 us, servers of CPU 0 50000000 ns", "-1 us, servers 0 ns"},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		for name, text := range tt.files {
			k.put(name, text)
		}
		before := snapshot(t, k.dir)
		c := required(tt.d)
		f := c.Check(t.Context(), m)
		must.Be(t, f.Status == setting.StatusWillSet && f.Found == tt.found && f.Wanted == tt.wanted, f)
		_, undo, err := c.Apply(t.Context(), m, openJournal(t, m))
		must.Do(t, err)
		must.Equal(t, c.Check(t.Context(), m).Status, setting.StatusOK, c.Name)
		must.Do(t, undo(t.Context()))
		sameTree(t, snapshot(t, k.dir), before)
	}
}

// TestSmallControls is the table of the settings that are a file or two.
func TestSmallControls(t *testing.T) {
	const thpEnabled, thpDefrag = thpDir + "/enabled", thpDir + "/defrag"
	const osrelease = "/proc/sys/kernel/osrelease"
	tests := []struct {
		name    string
		control Control
		files   texts
		status  setting.Status
		found   string
		wanted  string
	}{
		{"aslr as wanted", required(aslr, "value", 2), texts{"/proc/sys/kernel/randomize_va_space": "2\n"},
			setting.StatusOK, "2", "2"},
		{"aslr off", required(aslr, "value", 2), texts{"/proc/sys/kernel/randomize_va_space": "0\n"},
			setting.StatusWillSet, "0", "2"},
		{"no aslr", required(aslr, "value", 2), texts{}, setting.StatusCannot, "absent", "2"},
		{"watchdog on", required(nmiWatchdog), texts{"/proc/sys/kernel/nmi_watchdog": "1"},
			setting.StatusWillSet, "1", "0"},
		{"no watchdog", required(nmiWatchdog), texts{}, setting.StatusOK, "absent", "0"},
		{"perf", required(perfRate, "rate", 1, "percent", 1),
			texts{perfRateFile: "100000", perfPercentFile: "25"}, setting.StatusWillSet, "100000 Hz, 25 %",
			"1 Hz, 1 %"},
		{"perf half set", required(perfRate, "rate", 1, "percent", 1),
			texts{perfRateFile: "1", perfPercentFile: "25"}, setting.StatusWillSet, "1 Hz, 25 %",
			"1 Hz, 1 %"},
		{"perf set", required(perfRate, "rate", 1, "percent", 1),
			texts{perfRateFile: "1", perfPercentFile: "1"}, setting.StatusOK, "1 Hz, 1 %", "1 Hz, 1 %"},
		{"no perf", required(perfRate, "rate", 1, "percent", 1), texts{}, setting.StatusCannot, "absent",
			"1 Hz, 1 %"},
		{"thp", required(thp, "enabled", "never"), texts{thpEnabled: "always [madvise] never\n"},
			setting.StatusWillSet, "madvise", "never"},
		{"thp as wanted", required(thp, "enabled", "never"), texts{thpEnabled: "always madvise [never]\n"},
			setting.StatusOK, "never", "never"},
		{"thp not offered", required(thp, "enabled", "inherit"),
			texts{thpEnabled: "always madvise [never]\n"}, setting.StatusCannot, "never", "inherit"},
		{"thp and defrag", required(thp, "enabled", "never", "defrag", "never"),
			texts{thpEnabled: "always [never]", thpDefrag: "[always] never"}, setting.StatusWillSet,
			"never, defrag always", "never, defrag never"},
		{"rt_throttle", required(rtThrottle), texts{rtRuntimeFile: "950000", osrelease: "6.1.0-18"},
			setting.StatusWillSet, "950000 us", "-1 us"},
		{"rt_throttle without debugfs", required(rtThrottle), texts{rtRuntimeFile: "950000",
			osrelease: "6.12.38+deb13-amd64"}, setting.StatusCannot, "950000 us", "-1 us"},
		{"no thp", required(thp, "enabled", "never"), texts{}, setting.StatusOK, "absent", "never"},
		{"ksm running", required(ksm), texts{"/sys/kernel/mm/ksm/run": "1"}, setting.StatusWillSet, "1", "0"},
		{"ksm unmerged is good enough", required(ksm), texts{"/sys/kernel/mm/ksm/run": "2"},
			setting.StatusOK, "2", "0"},
		{"ksm stopped is not enough", required(ksm, "unmerge", true), texts{"/sys/kernel/mm/ksm/run": "0"},
			setting.StatusWillSet, "0", "2"},
		{"smt on", required(smt), texts{smtFile: "on", "/sys/devices/system/cpu/smt/active": "1"},
			setting.StatusWillSet, "on", "off"},
		{"smt on without siblings", required(smt),
			texts{smtFile: "on", "/sys/devices/system/cpu/smt/active": "0"}, setting.StatusOK, "on", "off"},
		{"smt forced off", required(smt), texts{smtFile: "forceoff"}, setting.StatusOK, "forceoff", "off"},
		{"smt by number of threads", required(smt), texts{smtFile: "4"}, setting.StatusWillSet, "4", "off"},
		{"no smt", required(smt), texts{}, setting.StatusOK, "absent", "off"},
		{"cstates spinning", required(cstates, "latency_us", 0),
			texts{latencyFile: "\x00\x94\x35\x77", "/sys/devices/system/cpu/smt/active": "0"},
			setting.StatusWillSet, "no limit", "at most 0 us to wake"},
		{"cstates limited enough", required(cstates, "latency_us", 10),
			texts{latencyFile: "\x05\x00\x00\x00"}, setting.StatusOK, "at most 5 us to wake",
			"at most 10 us to wake"},
		{"cstates held at 0 by another program", required(cstates, "latency_us", 10),
			texts{latencyFile: "\x00\x00\x00\x00"}, setting.StatusCannot, "at most 0 us to wake",
			"at most 10 us to wake"},
		{"cstates torn", required(cstates, "latency_us", 1), texts{latencyFile: "\x05"},
			setting.StatusCannot, "unknown", "at most 1 us to wake"},
		{"no cstates", required(cstates, "latency_us", 1), texts{}, setting.StatusCannot, "unknown",
			"at most 1 us to wake"},
		{"no idle states", required(cstates),
			texts{latencyFile: "\x00\x94\x35\x77", "/sys/devices/system/cpu/online": "0-1",
				"/proc/cpuinfo": "vendor_id\t: AuthenticAMD\n"},
			setting.StatusCannot, "unknown", "no deeper than C1"},
	}
	for _, tt := range tests {
		f := check(t, tt.control, tt.files)
		must.Be(t, f.Status == tt.status && f.Found == tt.found && f.Wanted == tt.wanted, tt.name, f.Status,
			"found", f.Found, f.Wanted, tt.status, tt.found, tt.wanted)
		must.Be(t, (f.Status != setting.StatusCannot || f.Detail != "") && f.Why != "", tt.name,
			"no detail or no why", f)
	}
}

// TestPerfPercentageFirst: with the percentage at 100 the kernel rejects the rate, while applying
// and while restoring.
func TestPerfPercentageFirst(t *testing.T) {
	for _, percent := range []string{"0", "100"} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		k.put(perfPercentFile, percent)
		before := state(t, m, k)
		f, restore, err := required(perfRate, "rate", 1, "percent", 1).Apply(t.Context(), m,
			openJournal(t, m))
		must.Need(t, err == nil && f.Status == setting.StatusSet, "percentage", percent, f, err)
		must.Do(t, restore(t.Context()), "percentage", percent)
		sameTree(t, state(t, m, k), before)
	}
}

func TestTicklessAndIsolcpus(t *testing.T) {
	const online, isolated = "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/isolated"
	debian := texts{online: "0-3", "/etc/os-release": "ID=debian\n", "/etc/default/grub": "",
		"/proc/sys/kernel/osrelease": "6.1"}
	with := func(more ...string) texts {
		files := texts{}
		for k, v := range debian {
			files[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	tests := []struct {
		name   string
		c      Control
		files  texts
		status setting.Status
		found  string
		text   string // in detail or fix
	}{
		{"all but the first", requiredOn("", tickless), with(nohzFile, "1-3"), setting.StatusOK, "CPU 1-3",
			""},
		{"more than needed", requiredOn("2-3", tickless), with(nohzFile, "0,2-3"), setting.StatusOK,
			"CPU 0,2-3", ""},
		{"too few", requiredOn("", tickless), with(nohzFile, "2-3"), setting.StatusNeedsReboot, "CPU 2-3",
			"add nohz_full=1-3 to GRUB_CMDLINE_LINUX"},
		{"none left for the time", requiredOn("3", tickless), with(nohzFile, "0-3"),
			setting.StatusNeedsReboot, "CPU 0-3", "nohz_full=3"},
		{"built, not used", requiredOn("", tickless), with(nohzFile, "(null)"), setting.StatusNeedsReboot,
			"none", "nohz_full=1-3"},
		{"built, not used, empty", requiredOn("", tickless), with(nohzFile, "\n"),
			setting.StatusNeedsReboot, "none", "update-grub"},
		{"Fedora", requiredOn("", tickless), with(nohzFile, "", "/etc/os-release", `ID="fedora"`),
			setting.StatusNeedsReboot, "none", `grubby --update-kernel=ALL --args="nohz_full=1-3"`},
		{"another system", requiredOn("", tickless), with(nohzFile, "", "/etc/os-release", "ID=void"),
			setting.StatusNeedsReboot, "none", "grub-mkconfig"},
		{"not built", requiredOn("", tickless), with(), setting.StatusCannot, "none", "CONFIG_NO_HZ_FULL"},
		{"not built, explained", requiredOn("", tickless),
			with("/boot/config-6.1", "CONFIG_HZ=250\n# CONFIG_NO_HZ_FULL is not set\n"),
			setting.StatusCannot, "none", "kernel configuration: CONFIG_NO_HZ_FULL is not set"},
		{"one CPU", requiredOn("", tickless), with(online, "0", nohzFile, ""), setting.StatusCannot, "none",
			"two CPUs"},
		{"all CPUs asked for", requiredOn("0-3", tickless), with(nohzFile, "1-3"), setting.StatusCannot,
			"unknown", "leave one"},
		{"CPUs that are not there", requiredOn("7", tickless), with(nohzFile, "1-3"), setting.StatusCannot,
			"unknown", "only 0-3 are online"},
		{"rubbish", requiredOn("", tickless), with(nohzFile, "x"), setting.StatusCannot, "unknown",
			"not a CPU number"},
		{"nothing isolated", required(isolcpus), with(isolated, ""), setting.StatusOK, "none", ""},
		{"isolated against the wish", required(isolcpus), with(isolated, "2-3"), setting.StatusNeedsReboot,
			"CPU 2-3", "remove isolcpus=..."},
		{"isolated by another program", required(isolcpus), with(isolated, "2-3", "/proc/cmdline", "quiet"),
			setting.StatusOK, "none", ""},
		{"the shield's own CPUs", required(isolcpus), with(isolated, "2-3",
			shieldDir+"/cpuset.cpus.partition", "isolated", shieldDir+"/cpuset.cpus", "2-3"),
			setting.StatusOK, "none", ""},
		{"the shield balances, so the argument isolates", required(isolcpus), with(isolated, "2-3",
			shieldDir+"/cpuset.cpus.partition", "root", shieldDir+"/cpuset.cpus", "2-3"),
			setting.StatusNeedsReboot, "CPU 2-3", "remove isolcpus=..."},
		{"a container in an isolated partition", required(isolcpus), with("/.dockerenv", "",
			"/proc/self/cgroup", "0::/", groupRoot+"/cpuset.cpus.partition", "isolated"),
			setting.StatusCannot, "isolated", `on the host of this container: write "root"`},
		{"a service in an isolated partition", required(isolcpus), with("/proc/self/cgroup", "0::/a/b",
			groupRoot+"/a/b/cpuset.cpus.partition", "member",
			groupRoot+"/a/cpuset.cpus.partition", "isolated"), setting.StatusCannot, "isolated",
			groupRoot + "/a/cpuset.cpus.partition, or start krund outside"},
		{"a partition that balances within an isolated one", required(isolcpus), with("/proc/self/cgroup",
			"0::/a/b", groupRoot+"/a/b/cpuset.cpus.partition", "root",
			groupRoot+"/a/cpuset.cpus.partition", "isolated"), setting.StatusOK, "none", ""},
		{"a partition that is not valid", required(isolcpus), with("/proc/self/cgroup", "0::/a",
			groupRoot+"/a/cpuset.cpus.partition", "isolated invalid (Cpu list empty)"), setting.StatusOK,
			"none", ""},
		// Linux 6.12, kernel/cgroup/cpuset.c:3753-3757: the file starts with the argument's CPUs.
		{"isolated at boot on Linux 6.12", required(isolcpus),
			with(isolated, "2-3", groupRoot+"/cpuset.cpus.isolated", "2-3"), setting.StatusNeedsReboot,
			"CPU 2-3", "remove isolcpus=..."},
	}
	for _, tt := range tests {
		f := check(t, tt.c, tt.files)
		must.Be(t, f.Status == tt.status && f.Found == tt.found && strings.Contains(f.Detail+f.Fix, tt.text),
			tt.name, f.Status, "found", f.Found, "detail", f.Detail, "fix", f.Fix, "want", tt.status,
			tt.found, tt.text)
	}
}

// TestPlannedSiblings: CPUs that smt switches off need not be tickless, and nothing is planned for
// them. Of the four CPUs of this tree, 2 and 3 are the second threads of 0 and 1. The kernel keeps
// the primary thread of each core (Linux 6.12, kernel/cpu.c:671-684).
func TestPlannedSiblings(t *testing.T) {
	for _, c := range []struct {
		smt, nohz string
		policy    setting.Policy
		status    setting.Status
		text      string // in wanted or fix
	}{
		{"on", "1", setting.Apply, setting.StatusOK, "CPU 1"},
		{"on", "2-3", setting.Apply, setting.StatusNeedsReboot, "nohz_full=1\""},
		{"on", "1", setting.Off, setting.StatusNeedsReboot, "nohz_full=1-3"},
		{"on", "0-3", setting.Apply, setting.StatusNeedsReboot, "nohz_full=1\""},
	} {
		m, k := fakeMachine(t, "intel-pstate-active")
		k.put(smtFile, c.smt)
		k.put(nohzFile, c.nohz)
		r := under(Defaults(), c.policy, "smt")
		f := tickless.control(r).Check(t.Context(), m)
		must.Be(t, f.Status == c.status && strings.Contains(f.Wanted+f.Fix, c.text), c, f)
		if c.policy != setting.Off {
			r = under(r, setting.Require, "shield", "irq_affinity")
			f := shield.control(r).Check(t.Context(), m)
			must.Equal(t, f.Wanted, "CPU 1 root", "shield", f)
			f = irqAffinity.control(r).Check(t.Context(), m)
			must.Equal(t, f.Wanted, "CPU 0", "interrupts", f)
		}
	}
}

// TestShallowestIdle: the request permits the shallowest idle state, and not only polling, which
// latency 0 would select (Linux 6.12, drivers/cpuidle/governors/menu.c:290-300). The latencies are
// those of the trees: drivers/idle/intel_idle.c, drivers/cpuidle/cpuidle-psci.c.
func TestShallowestIdle(t *testing.T) {
	for tree, want := range map[string]string{
		"intel-pstate-active": "at most 2 us to wake", "intel-hybrid": "at most 2 us to wake",
		"amd-acpi-cpufreq": "at most 1 us to wake", "arm64": "at most 1 us to wake",
		"kvm-guest": "no deeper than C1",
	} {
		m, _ := fakeMachine(t, tree)
		f := required(cstates).Check(t.Context(), m)
		must.Be(t, f.Wanted == want && f.Fails() == (tree == "kvm-guest"), tree, f)
	}
	m, _ := fakeMachine(t, "intel-pstate-active")
	zero := demand(cstates, setting.Require, "latency_us", 0)
	for policy, want := range map[setting.Policy]setting.Status{
		setting.Off: setting.StatusCannot, setting.Apply: setting.StatusWillSet, // smt
	} {
		f := cstates.control(under(requestOn("", zero), policy, "smt")).Check(t.Context(), m)
		must.Equal(t, f.Status, want, "spinning beside siblings, smt", policy, f)
	}
}

func TestOvercommitHeadroom(t *testing.T) {
	const gib = 1 << 30
	memory := host.Meminfo{"MemTotal": 16 * gib, "SwapTotal": 1 * gib, "CommitLimit": 9 * gib,
		"Committed_AS": 1 * gib}
	tests := []struct {
		name   string
		ratio  int
		heap   int64
		noSwap bool
		status setting.Status
		fix    string
	}{
		{"fits", 0, 2 * gib, false, setting.StatusWillSet, ""},
		{"fits without swap", 0, 6 * gib, true, setting.StatusWillSet, ""},
		// 8.5 GiB of 16, rounded up
		{"does not fit without swap", 0, 7 * gib, true, setting.StatusCannot, "ratio = 54"},
		{"with a higher ratio", 60, 7 * gib, true, setting.StatusWillSet, ""},
		{"nothing helps", 0, 20 * gib, true, setting.StatusCannot, "lower the heap limit"},
	}
	for _, tt := range tests {
		p := checkHeadroom(willSet("0", "2", Step{}), memory, tt.ratio, tt.heap, tt.noSwap)
		must.Be(t, p.Status == tt.status && strings.Contains(p.Fix, tt.fix) && p.Detail != "", tt.name, p,
			tt.status, "fix", tt.fix)
	}
}

func TestOvercommitModes(t *testing.T) {
	const gib = 1048576 // kB
	files := texts{
		overcommitFile: "0", ratioFile: "50",
		"/proc/meminfo": fmt.Sprintf("MemTotal: %d kB\nCommitLimit: %d kB\nCommitted_AS: %d "+
			"kB\nSwapTotal: 0 kB\n", 16*gib, 8*gib, gib),
	}
	f := check(t, required(overcommit, "mode", 1), files)
	must.Be(t, f.Status == setting.StatusWillSet && f.Detail == "", "mode 1", f)
	f = check(t, overcommit.control(Request{Demands: requestOn("",
		demand(overcommit, setting.Require, "mode", 2, "ratio", 90)).Demands, Heap: 10 << 30}), files)
	must.Be(t, f.Status == setting.StatusWillSet && f.Found == "0, 50 %", "mode 2 with ratio", f)
	delete(files, "/proc/meminfo")
	f = check(t, required(overcommit, "mode", 2), files)
	must.Equal(t, f.Status, setting.StatusCannot, "mode 2 without meminfo", f)
}

// TestOvercommitKbytes: the kernel drops a limit in KiB when the ratio is set; restore writes it
// again. A ratio of 0 is never written, since it would leave no memory to commit.
func TestOvercommitKbytes(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	k.put(kbytesFile, "8388608")
	k.put(ratioFile, "0")
	before := state(t, m, k)
	f, restore, err := required(overcommit, "mode", 2, "ratio", 80).Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err == nil && f.Status == setting.StatusSet, f, err)
	must.Equal(t, k.get(ratioFile)+" "+k.get(kbytesFile), "80 0", "ratio and kbytes are", "want 80 0")
	must.Do(t, restore(t.Context()))
	sameTree(t, state(t, m, k), before)
	must.Be(t, !slices.Contains(k.writes, ratioFile+"=0"), "wrote", k.writes)
}

func TestKernelWithoutSwap(t *testing.T) {
	files := texts{"/proc/meminfo": "MemTotal: 100 kB\n"}
	m := &Machine{Host: host.Host{Root: sysroot.New(t.TempDir()).With(files)}}
	f := required(swap).Check(t.Context(), m)
	must.Equal(t, f.Status, setting.StatusCannot, "without /proc", f)
	must.Do(t, errors.Join(os.Mkdir(m.Root.Path("/proc"), 0o755),
		os.WriteFile(m.Root.Path("/proc/meminfo"), nil, 0o644)))
	f = required(swap).Check(t.Context(), m)
	must.Be(t, f.Status == setting.StatusOK && f.Found == "absent", "kernel without CONFIG_SWAP", f)
}

func TestPlanSwap(t *testing.T) {
	areas := []swapArea{{"/dev/sda5", 100 << 20, -2}, {"/swap", 0, 5}}
	p := planSwap(areas, 1<<30)
	must.Be(t, p.Status == setting.StatusWillSet && len(p.Steps) == 2 && p.Steps[1].Old == "5", p)
	p = planSwap(areas, 200<<20)
	must.Be(t, p.Status == setting.StatusCannot && strings.Contains(p.Detail, "100 MiB"),
		"swap that does not fit into memory", p)
	p = planSwap([]swapArea{{"/swap (deleted)", 0, 5}}, 1<<30)
	must.Equal(t, p.Status, setting.StatusCannot, "removed swap file", p)
	p = planSwap(nil, 0)
	must.Equal(t, p.Status, setting.StatusOK, "no swap", p)
}

func TestParseSwaps(t *testing.T) {
	const text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/dm-1                             " +
		"  partition\t8388604\t\t1024\t\t-2\n/a\\040b\\134                             file\t1\t0\t10\n"
	got, err := parseSwaps(text)
	want := []swapArea{{"/dev/dm-1", 1 << 20, -2}, {`/a b\`, 0, 10}}
	must.Be(t, err == nil && slices.Equal(got, want), got, err, "want", want)
	for _, bad := range []string{"/dev/sda5 partition\n", "a b c d e\n", "a b 1 -5 0\n"} {
		got, err := parseSwaps(bad)
		must.Be(t, err != nil, bad, "gave", got)
	}
}

// TestInterruptsThatCannotBeRead: an unreadable interrupt is named and the others are moved; if
// none can be read, the finding is unknown.
func TestInterruptsThatCannotBeRead(t *testing.T) {
	c := requiredOn("", irqAffinity)
	for _, tt := range []struct {
		name, part string
		status     setting.Status
		found      string
		detail     string
	}{
		{"one", "/proc/irq/16/smp", setting.StatusWillSet, "0 of 3 away from CPU 1-3",
			"/proc/irq/16/smp_affinity_list: input/output error"},
		{"all", "/smp_affinity_list", setting.StatusCannot, "unknown",
			"/proc/irq/0/smp_affinity_list: input/output error"},
		{"the default", "/default_smp_affinity", setting.StatusCannot, "unknown",
			"default_smp_affinity: input/output error"},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		m.Root = m.Root.With(unread{k, tt.part, syscall.EIO})
		f := c.Check(t.Context(), m)
		must.Be(t, f.Status == tt.status && f.Found == tt.found && strings.Contains(f.Detail, tt.detail),
			tt.name, f)
	}
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	k.remove(t, irqDir)
	f := c.Check(t.Context(), m)
	must.Equal(t, f.Status, setting.StatusCannot, "no", irqDir, f)
}

func TestIRQAffinity(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	k.put("/proc/irq/16/effective_affinity_list", "") // no handler: nothing is delivered
	before := state(t, m, k)
	c := requiredOn("", irqAffinity)
	f, restore, err := c.Apply(t.Context(), m, openJournal(t, m))
	must.Need(t, err == nil && f.Status == setting.StatusSet && f.Found == "1 of 3 away from CPU 1-3", f, err)
	must.Be(t, strings.Contains(f.Detail, "/proc/irq/0/smp_affinity_list") &&
		strings.Contains(f.Detail, syscall.EIO.Error()), "the interrupt that does not move is not named",
		f.Detail)
	must.Equal(t, k.get("/proc/irq/24/smp_affinity_list")+" "+k.get("/proc/irq/default_smp_affinity"),
		"0 1", "affinities")
	must.Do(t, restore(t.Context()))
	sameTree(t, state(t, m, k), before)
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"Filename\n/dev/x partition 1 0 -2\n",
		"always [madvise] never", "a b\\040c", "manual 100", "unit.service loaded active running x",
		"em0: flags=8843<UP> mtu 1\n",
		"Id=a.service\nTriggeredBy=b.timer\n\nId=c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if areas, err := parseSwaps(text); err == nil {
			planSwap(areas, 1<<30)
		}
		_, found := chosen(text)
		must.Be(t, !found || FormChoice.show(FormChoice.show(text)) == FormChoice.show(text), "showing", text,
			"twice is not showing it once")
		if s, err := parsePerfState(text); err == nil {
			again, err := parsePerfState(s.String())
			must.Be(t, err == nil && again == s, text, s, "which reads as", again, err)
		}
		for _, u := range parseUnits(text) {
			must.Be(t, u.Name != "", "unit without a name", text)
		}
		for name, u := range parseShown(text) {
			must.Be(t, name != "" && name == u.Name, "unit", u.Name, "is called", name, text)
		}
		parseIfconfig(text)
	})
}
