package probe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"krund/internal/control/machines"
	"krund/internal/display"
	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestReadState: what is recorded of machines whatever krund controls.
func TestReadState(t *testing.T) {
	for _, tt := range []struct{ tree, name, want string }{
		{"more/scx-6.18", "sched.ext_ops", "lavd"},
		{"more/scx-6.18", "thp.sizes", "2048kB inherit, 64kB always"},
		{"more/scx-6.18", "cpu.nonstop_tsc", "true"},
		{"more/epyc-nps4", "numa.nodes", "0-1, 10-11, 12-13, 14-15, 2-3, 4-5, 6-7, 8-9"},
		{"more/graviton", "thp.enabled", "madvise"},
		{"more/graviton", "cpu.nonstop_tsc", ""},
		{"kvm-guest", "cpu.nonstop_tsc", "false"},
		{"kvm-guest", "sched.ext", ""},
		{"intel-server", "cpufreq.base", "2400000"},
		{"more/scx-6.18", "sched.slice", "se.slice : 2800000"},
		{"more/scx-6.18", "cpu.speculation", "Speculation_Store_Bypass: thread vulnerable, " +
			"SpeculationIndirectBranch: conditional enabled"},
	} {
		state := ReadState(host.Host{Root: sysroot.New(machines.New(t, tt.tree))})
		must.Equal(t, state[StatePrefix+tt.name], tt.want, tt.tree, tt.name)
	}
	must.Equal(t, len(ReadState(host.Host{Root: sysroot.New(t.TempDir())})), 0, "of a copy of a machine")
	here := ReadState(host.Host{Root: sysroot.New("/")})[StatePrefix+"clock.reading"]
	must.Be(t, here != "", "of this machine there is no cost of a reading")
	dir := t.TempDir()
	modules := func(text string) string {
		put(t, dir, "proc/modules", text)
		return ReadState(host.Host{Root: sysroot.New(dir)})[StatePrefix+"kernel.modules"]
	}
	first := modules("ext4 1 2 - Live 0x0\nmsr 1 0 - Live 0x0\n")
	must.Equal(t, modules("msr 1 7 - Live 0x0\next4 1 2 - Live 0x0\n"), first, "in another order")
	must.Be(t, modules("ext4 1 2 - Live 0x0\n") != first, "a module is gone")
	setting := func(name, text string) string {
		put(t, dir, "proc/sys/kernel/"+name, text)
		return ReadState(host.Host{Root: sysroot.New(dir)})[StatePrefix+"kernel.sysctl"]
	}
	first = setting("sched_rt_runtime_us", "950000")
	must.Equal(t, setting("ns_last_pid", "4711"), first, "with the last process")
	must.Be(t, setting("sched_rt_runtime_us", "-1") != first, "after a change")
}

func TestCheckScheduler(t *testing.T) {
	for tree, want := range map[string]string{"more/scx-6.18": "sched_ext lavd",
		"kvm-guest": "the kernel's"} {
		f := CheckScheduler(t.Context(), host.Host{Root: sysroot.New(machines.New(t, tree))})
		must.Be(t, f.Found == want && (f.Status == setting.StatusOK) == (tree == "kvm-guest"), f)
	}
}

// TestNoticed: nohz_full only permits the kernel to stop the tick, devices may interrupt a shielded
// CPU, and the memory management may make programs wait.
func TestNoticed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "sys/devices/system/cpu/nohz_full", "1-2\n")
	h := host.Host{Root: sysroot.New(dir)}
	at := func(second int64, ticks, device int) Activity {
		table := ParseInterrupts(fmt.Sprintf("CPU0 CPU1 CPU2 CPU3\nLOC: %d %[1]d 3 %[1]d Local timer "+
			"interrupts\n24: 0 0 0 %d PCI-MSIX 1-edge nvme0q3\n25: 0 0 0 0 PCI-MSIX 2-edge\n", ticks, device))
		return Activity{at: time.Unix(second, 0), interrupts: &table}
	}
	got := Noticed(h, []int{1, 2, 3}, false, at(0, 0, 0), at(10, 2500, 2500))
	must.Be(t, len(got) == 1 && strings.Contains(got[0], "CPU 1, which is in nohz_full: 250/s"), got)
	must.Equal(t, len(Noticed(h, []int{1, 2}, true, at(0, 0, 0), at(10, 100, 0))), 0, "10 a second")
	must.Equal(t, len(Noticed(h, nil, true, at(0, 0, 0), at(10, 2500, 2500))), 0, "bound nowhere")
	got = Noticed(h, []int{3}, true, at(0, 0, 0), at(10, 2500, 1000))
	must.Be(t, len(got) == 1 && strings.Contains(got[0], "CPU 3, which should have none: 100/s, most by 24 "+
		"PCI-MSIX 1-edge nvme0q3"), got)
	put(t, dir, "proc/vmstat", "nr_free_pages 5\npswpin 100\npswpout 7\nnuma_pages_migrated 9\n"+
		"compact_stall 0\nallocstall_dma 1\nallocstall_normal 1\npgfault 1\n")
	idle := func(us string) {
		put(t, dir, "sys/devices/system/cpu/cpu1/cpuidle/state0/name", "POLL\n")
		put(t, dir, "sys/devices/system/cpu/cpu1/cpuidle/state0/time", us)
	}
	idle("7")
	before := ReadActivity(h, time.Unix(0, 0), 0, 1)
	put(t, dir, "proc/vmstat", "nr_free_pages 5\npswpin 130\npswpout 9\nnuma_pages_migrated 1010\n"+
		"compact_stall 5\nallocstall_dma 4\nallocstall_normal 4\npgfault 9\n")
	idle("30")
	after := ReadActivity(h, time.Unix(1, 0), 0, 1)
	got = Noticed(h, nil, false, before, after)
	must.Be(t, slices.Equal(got, []string{"the machine swapped during the run: 30 pages in, 2 out",
		"during the run the kernel moved 1001 pages between memory nodes (see numa_balancing)",
		"during the run the kernel freed memory 6 times while a program waited: it is full"}), got)
	must.Equal(t, fmt.Sprint(after.Since(before, 0, nil).Counts), "[{allocstall_dma 6} {compact_stall 5} "+
		"{idle.POLL 23} {numa_pages_migrated 1001} {pswpin 30} {pswpout 2}]")
	idle("-1") // hostile, or a counter that ran backwards
	must.Equal(t, len(ReadActivity(h, time.Unix(2, 0), 0, 1).countsSince(after)), 0)
}

// TestBurdened: the time of interrupts is a remark with the CPU that had most of it and what
// interrupted it there, above 0.5 % of the run and from three ticks of the kernel's accounting on.
func TestBurdened(t *testing.T) {
	dir := t.TempDir()
	read := func(second int64, irq, softirq, device, packets int) Activity {
		put(t, dir, "proc/stat", fmt.Sprintf("cpu 0 0\ncpu0 0 0 0 0 0 900 900\ncpu1 5 0 0 0 0 %d %d\n"+
			"cpu2 5 0 0 0 0 0 3\n", irq, softirq))
		put(t, dir, "proc/interrupts", fmt.Sprintf("CPU0 CPU1 CPU2\n24: 9 %d 0 PCI-MSIX eth0\n", device))
		put(t, dir, "proc/softirqs", fmt.Sprintf("CPU0 CPU1 CPU2\nNET_RX: 9 %d 0\n", packets))
		return ReadActivity(host.Host{Root: sysroot.New(dir)}, time.Unix(second, 0), 0)
	}
	before := read(0, 1, 1, 0, 0)
	for _, cpus := range [][]int{{1, 2}, nil} { // nil: bound nowhere
		got := burdened(cpus, before, read(10, 1, 231, 5000, 80_000))
		must.Equal(t, strings.Join(got, "; "), "interrupts took 23 % of CPU 1 during the run: softirq "+
			"NET_RX 8000/s, interrupt 24 PCI-MSIX eth0 500/s (see irq_affinity, rps_cpus)")
	}
	for name, after := range map[string]Activity{"0.5 %": read(10, 3, 4, 9, 9), "no such file": {},
		"two ticks": read(1, 2, 2, 9, 9), "backwards": read(10, 0, 0, 9, 9)} {
		must.Equal(t, len(burdened([]int{1, 3}, before, after)), 0, name)
	}
}

// TestHostileState: whatever the files hold, a record's values are short lines of printable text.
func TestHostileState(t *testing.T) {
	for _, text := range []string{"", "\n", "\x00\xff\x1b[2J", strings.Repeat("[always] ", 1<<17), "se.slice",
		"Speculation\x1b]0;x\x07: \u202e", "-1", "99999999999999999999", strings.Repeat("a\n", 1<<12)} {
		dir := t.TempDir()
		put(t, dir, "proc/sys/kernel/osrelease", "6.12\n")
		for _, s := range stateFiles {
			file, _, _ := strings.Cut(strings.Replace(s.pattern, release, "6.12", 1), "#")
			put(t, dir, strings.NewReplacer("[0-9]*", "0", "*", "0").Replace(file), text)
		}
		cpu := "sys/devices/system/cpu/cpu1/cpuidle/state0/"
		put(t, dir, cpu+"name", text)
		put(t, dir, cpu+"time", "18446744073709551615")
		put(t, dir, "proc/vmstat", "allocstall_dma 18446744073709551615\nallocstall_normal 1\n"+text)
		h := host.Host{Root: sysroot.New(dir)}
		for name, value := range ReadState(h) {
			must.Be(t, utf8.RuneCountInString(value) <= mostState+len("...") && display.Printable(value) &&
				!strings.Contains(value, "\n"), name, value)
		}
		before := ReadActivity(h, time.Unix(0, 0), 0, 1)
		put(t, dir, cpu+"time", "5")
		after := ReadActivity(h, time.Unix(1, 0), 0, 1)
		for _, c := range after.countsSince(before) {
			must.Be(t, utf8.RuneCountInString(c.Name) < 2*mostName && display.Printable(c.Name), c.Name)
		}
		_ = Noticed(h, []int{1}, true, before, after)
	}
}
