package control

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

func TestRPS(t *testing.T) {
	const (
		eth0 = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
		lo   = "/sys/class/net/lo/queues/rx-0/rps_cpus"
	)
	for _, tt := range []struct {
		name, cpus string
		eth0, lo   string
		status     setting.Status
		found      string
		set        map[string]string // after applying
	}{
		{"all CPUs", "", "f", "0", setting.StatusWillSet, "1 of 2 queues use them: eth0",
			map[string]string{eth0: "1", lo: "0"}},
		{"only benchmark CPUs", "1-3", "c", "2", setting.StatusWillSet, "2 of 2 queues use them: eth0, lo",
			map[string]string{eth0: "0", lo: "0"}},
		{"the other CPUs", "2,3", "3", "1", setting.StatusOK, "2 queues", nil},
		// as on a machine with more possible CPUs
		{"words", "2,3", "00000000,0000000f", "0", setting.StatusWillSet, "1 of 2 queues use them: eth0",
			map[string]string{eth0: "3"}},
		{"not a mask", "2,3", "all", "0", setting.StatusCannot, "unknown", nil},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		k.put(eth0, tt.eth0)
		k.put(lo, tt.lo)
		before := state(t, m, k)
		c := requiredOn(tt.cpus, rps)
		p := c.plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found, tt.name, p)
		_, restore, _ := c.Apply(t.Context(), m, openJournal(t, m))
		for file, want := range tt.set {
			must.Equal(t, k.get(file), want, tt.name)
		}
		must.Do(t, restore(t.Context()))
		sameTree(t, state(t, m, k), before)
	}
}

// TestCaches: each file is written once, and never again to restore it. Nothing reads the files:
// the kernel refuses that to root, too (mode 0200, kernel/sysctl.c of Linux 6.1:2213).
func TestCaches(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []any
		without string // a file that the kernel does not have
		status  setting.Status
		wanted  string
		writes  []string
	}{
		{"both", nil, "", setting.StatusSet, "empty caches, compact memory",
			[]string{dropCachesFile + "=3", compactMemoryFile + "=1"}},
		{"drop", []any{"compact", false}, compactMemoryFile, setting.StatusSet, "empty caches",
			[]string{dropCachesFile + "=3"}},
		{"neither", []any{"compact", false, "drop", false}, "", setting.StatusOK, "", nil},
		{"no compaction", nil, compactMemoryFile, setting.StatusCannot, "empty caches, compact memory", nil},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		for _, file := range []string{dropCachesFile, compactMemoryFile} {
			if file != tt.without {
				k.put(file, "write-only")
			}
		}
		r := Request{Demands: setting.Defaults(Descriptors()).With(
			demand(caches, setting.Apply, tt.options...))}
		for i := range r.Demands {
			if r.Demands[i].Name != "caches" {
				r.Demands[i].Policy = setting.Off
			}
		}
		j := openJournal(t, m)
		findings, restore, problems := ApplyAll(t.Context(), m, r, j)
		i := slices.IndexFunc(findings, func(f setting.Finding) bool { return f.Name == "caches" })
		f := findings[i]
		must.Be(t, len(problems) == 0 && f.Status == tt.status && f.Wanted == tt.wanted, tt.name, f, problems)
		must.Do(t, restore(t.Context()))
		must.EqualList(t, k.writes, tt.writes, tt.name, "wrote")
	}
}

// TestCachesAfterACrash: an entry that is left in the journal makes krund write nothing.
func TestCachesAfterACrash(t *testing.T) {
	m, k := fakeMachine(t, "intel-acpi-cpufreq")
	k.put(dropCachesFile, "write-only")
	j := openJournal(t, m)
	must.Get2(required(caches, "compact", false).Apply(t.Context(), m, j))(t)
	report, err := Restore(t.Context(), m, j)
	must.Be(t, err == nil && len(report) == 1 && report[0].Outcome == Already && len(k.writes) == 1, report,
		err, "wrote", k.writes)
}

// TestCacheWays: the parts are consecutive and cover the cache, as cbm_validate requires
// (arch/x86/kernel/cpu/resctrl/ctrlmondata.c of Linux 6.1:101).
func TestCacheWays(t *testing.T) {
	const group, schemata = "/sys/fs/resctrl/krund", "/sys/fs/resctrl/schemata"
	for _, tt := range []struct {
		name   string
		others int
		put    map[string]string
		status setting.Status
		found  string
		steps  string
	}{
		{"two ways", 2, nil, setting.StatusWillSet, "L3:0=7ff;1=7ff", "[" +
			group + ": absent -> present " +
			group + "/schemata: L3:0=7ff;1=7ff -> L3:0=1ff;1=1ff " +
			group + "/cpus_list:  -> 1-3 " +
			schemata + ": L3:0=7ff;1=7ff -> L3:0=600;1=600]"},
		{"all ways", 11, nil, setting.StatusCannot, "L3:0=7ff;1=7ff", "[]"},
		{"least", 1, map[string]string{"/sys/fs/resctrl/info/L3/min_cbm_bits": "2"}, setting.StatusCannot,
			"L3:0=7ff;1=7ff", "[]"},
		{"code and data", 2, map[string]string{schemata: "L3DATA:0=7ff\nL3CODE:0=7ff"}, setting.StatusCannot,
			"no L3", "[]"},
		{"no mask", 2, map[string]string{"/sys/fs/resctrl/info/L3/cbm_mask": "all"}, setting.StatusCannot,
			"L3:0=7ff;1=7ff", "[]"},
	} {
		m, k := fakeMachine(t, "intel-server")
		for file, text := range tt.put {
			k.put(file, text)
		}
		p := requiredOn("1-3", cacheWays, "others", tt.others).plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found && fmt.Sprint(p.Steps) == tt.steps, tt.name,
			p)
	}
	must.Equal(t, showWays("    MB:0=2048\n    L3:0=00ff;12=0001\n"), "L3:0=ff;12=1", "padded masks")
	m, _ := fakeMachine(t, "intel-acpi-cpufreq")
	p := required(cacheWays).plan(t.Context(), m)
	must.Be(t, p.Status == setting.StatusCannot && p.Found == "not mounted", "not mounted", p)
}

// TestCacheWaysAreRestored: by the running krund, and by the next one after a crash. A group of
// another program is left alone.
func TestCacheWaysAreRestored(t *testing.T) {
	for _, crash := range []bool{false, true} {
		m, k := fakeMachine(t, "intel-server")
		before := state(t, m, k)
		j := openJournal(t, m)
		f, restore, err := requiredOn("1-3", cacheWays).Apply(t.Context(), m, j)
		must.Need(t, err == nil && f.Status == setting.StatusSet &&
			k.get("/sys/fs/resctrl/krund/cpus_list") == "1-3", f, err)
		again := requiredOn("1-3", cacheWays).plan(t.Context(), m)
		must.Equal(t, again.Status, setting.StatusOK, "not as wanted after applying", again)
		if crash {
			_, err = Restore(t.Context(), m, j)
		} else {
			err = restore(t.Context())
		}
		must.Do(t, err, "crash", crash)
		sameTree(t, state(t, m, k), before)
	}
	m, k := fakeMachine(t, "intel-server")
	must.Do(t, k.Mkdir(m.Root.Path("/sys/fs/resctrl/other")))
	p := required(cacheWays).plan(t.Context(), m)
	must.Equal(t, p.Status, setting.StatusCannot, "beside another group", p)
}

// clocks are the files of the clock sources; the kernel ends the list with a space
// (kernel/time/clocksource.c of Linux 6.12:1476).
func clocks(current, available string) texts {
	return texts{clocksourceDir + "/current_clocksource": current + "\n",
		clocksourceDir + "/available_clocksource": available + "\n"}
}

func TestClocksource(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		files        texts
		status       setting.Status
		found        string
		wanted       string
	}{
		{"tsc", "", clocks("tsc", "tsc hpet acpi_pm "), setting.StatusOK, "tsc", "tsc, or a hypervisor's"},
		{"tsc unstable", "", clocks("hpet", "hpet acpi_pm "), setting.StatusCannot, "hpet",
			"tsc, or a hypervisor's"},
		{"paravirtual clock", "", clocks("kvm-clock", "kvm-clock tsc acpi_pm "),
			setting.StatusOK, "kvm-clock", "tsc, or a hypervisor's"}, // read without a system call
		{"that clock wanted", "kvm-clock", clocks("kvm-clock", "kvm-clock tsc acpi_pm "),
			setting.StatusOK, "kvm-clock", "kvm-clock"},
		{"arm64", "", clocks("arch_sys_counter", "arch_sys_counter "),
			setting.StatusOK, "arch_sys_counter", "any"},
		{"no clock source", "", texts{}, setting.StatusCannot, "unknown", "any"},
	} {
		f := check(t, required(clocksource, "name", tt.source), tt.files)
		must.Be(t, f.Status == tt.status && f.Found == tt.found && f.Wanted == tt.wanted, tt.name, f)
	}
}

func TestEnergyPerfBias(t *testing.T) {
	const bias = "/sys/devices/system/cpu/cpu1/power/energy_perf_bias"
	for _, tt := range []struct {
		name, value string
		cpu1        string // "" removes the file of CPU 1
		status      setting.Status
		found       string
		wanted      string
		steps       int
	}{
		{"all differ", "performance", "6", setting.StatusWillSet, "6", "0", 4},
		{"one is as wanted", "balance-performance", "4", setting.StatusWillSet, "6, 4", "4", 3},
		{"one differs", "6", "15", setting.StatusWillSet, "6, 15", "6", 1},
		{"as wanted", "normal", "6", setting.StatusOK, "6", "6", 0},
		{"a CPU is offline", "power", "", setting.StatusWillSet, "6", "15", 3},
		{"not a bias", "balance-power", "16", setting.StatusCannot, "unknown", "8", 0},
	} {
		m, k := fakeMachine(t, "intel-acpi-cpufreq")
		if tt.cpu1 == "" {
			k.remove(t, bias)
		} else {
			k.put(bias, tt.cpu1)
		}
		p := required(energyPerfBias, "value", tt.value).plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found && p.Wanted == tt.wanted &&
			len(p.Steps) == tt.steps, tt.name, p)
	}
	m, _ := fakeMachine(t, "arm64")
	f := required(energyPerfBias).Check(t.Context(), m)
	must.Be(t, f.Status == setting.StatusOK && f.Found == "absent", "a processor without a bias", f)
}

// TestPlacementOfManyCPUs: 512 of them in 8 nodes, with 16 that share a cache. The first node has
// one CPU less, as the lowest is the system's.
func TestPlacementOfManyCPUs(t *testing.T) {
	files := texts{cpuDir + "online": "0-511"}
	for cpu := range 512 {
		first := cpu / 16 * 16
		files[fmt.Sprintf("%scpu%d/cache/index3/shared_cpu_list", cpuDir, cpu)] = fmt.Sprintf("%d-%d", first,
			first+15)
	}
	for node := range 8 {
		files[fmt.Sprintf("/sys/devices/system/node/node%d/cpulist", node)] = fmt.Sprintf("%d-%d", 64*node,
			64*node+63)
	}
	files["/sys/devices/system/node/node8/cpulist"] = "\n" // memory without processors
	dir := t.TempDir()
	for name, text := range files {
		must.Write(t, filepath.Join(dir, name), text)
	}
	m := &Machine{Host: host.Host{Root: sysroot.New(dir)}}
	f := placement.control(Defaults()).Check(t.Context(), m)
	must.Be(t, f.Wanted == "CPU 64-79" && f.Found == "CPU 0-511 of 8 memory nodes, 32 last-level caches", f)
}

// TestPlacement: the default set of each kind of machine; off and warn bind nothing, and warn says
// when a benchmark may run on several kinds of processors.
func TestPlacement(t *testing.T) {
	for _, tt := range []struct{ tree, bound, found string }{
		{"more/epyc-nps4", "2-3", "CPU 0-15 of 8 memory nodes, 8 last-level caches"},
		{"more/intel-lpe", "1-3", "CPU 0-9 of 3 core kinds"},
		{"intel-hybrid", "0-1", "CPU 0-3 of 2 core kinds"}, // one performance core is too few
		{"more/graviton", "1-3", "CPU 0-3"},
		{"more/container", "", "CPU 2-3"},
		{"kvm-guest", "", "CPU 0-1"},
	} {
		m, _ := fakeMachine(t, tt.tree)
		r := Defaults()
		f := placement.control(r).Check(t.Context(), m)
		must.Be(t, f.Status == setting.StatusOK && f.Found == tt.found, tt.tree, f)
		must.Equal(t, Placement(m, r, CheckAll(t.Context(), m, r)).CPUs.String(), tt.bound, tt.tree)
		r = under(r, setting.Warn, "placement")
		f = placement.control(r).Check(t.Context(), m)
		must.Be(t, (f.Status == setting.StatusOK) == (tt.bound == ""), tt.tree, f)
		must.Equal(t, Placement(m, r, nil).CPUs.String(), "", tt.tree)
		r = under(under(r, setting.Apply, "shield"), setting.Apply, "placement")
		f = placement.control(r).Check(t.Context(), m)
		must.Be(t, (f.Status == setting.StatusCannot) == (tt.tree == "more/epyc-nps4"), "with a shield",
			tt.tree, f)
	}
}

// TestUncore: the limits of the driver meet (uncore-frequency.c of Linux 6.1:58), the upper one is
// never below the lower one on the way, and everything is restored.
func TestUncore(t *testing.T) {
	const first = uncoreDir + "/package_00_die_00"
	low, high := first+"/min_freq_khz", first+"/max_freq_khz"
	for _, tt := range []struct {
		name   string
		khz    int
		status setting.Status
		found  string
		wanted string
		order  []string // the steps of the first package
	}{
		{"at the maximum", 0, setting.StatusWillSet, "1200000 to 2400000 kHz", "minimum = maximum",
			[]string{low + ": 1200000 -> 2400000"}},
		{"in between", 2000000, setting.StatusWillSet, "1200000 to 2400000 kHz", "2000000 kHz",
			[]string{low + ": 1200000 -> 2000000", high + ": 2400000 -> 2000000"}},
		{"above", 2600000, setting.StatusWillSet, "1200000 to 2400000 kHz", "2600000 kHz",
			[]string{high + ": 2400000 -> 2600000", low + ": 1200000 -> 2600000"}},
		{"below", 1000000, setting.StatusWillSet, "1200000 to 2400000 kHz", "1000000 kHz",
			[]string{low + ": 1200000 -> 1000000", high + ": 2400000 -> 1000000"}},
		{"not a multiple", 2050000, setting.StatusCannot, "unknown", "2050000 kHz", nil},
	} {
		m, k := fakeMachine(t, "intel-server")
		p := required(uncore, "khz", tt.khz).plan(t.Context(), m)
		must.Be(t, p.Status == tt.status && p.Found == tt.found && p.Wanted == tt.wanted &&
			len(p.Steps) == 2*len(tt.order) && fmt.Sprint(p.Steps[:len(tt.order)]) == fmt.Sprint(tt.order),
			tt.name, p)
		before := state(t, m, k)
		f, restore, err := required(uncore, "khz", tt.khz).Apply(t.Context(), m, openJournal(t, m))
		must.Be(t, tt.order == nil || err == nil && f.Status == setting.StatusSet &&
			k.get(low) == k.get(high), tt.name, f, err, k.get(low), "to", k.get(high))
		must.Do(t, restore(t.Context()))
		sameTree(t, state(t, m, k), before)
	}
	f := check(t, required(uncore), texts{})
	must.Be(t, f.Status == setting.StatusCannot && f.Found == "absent", "without the driver", f)
}

// TestUncoreDomains: where there are single domains, the directory that stands for all of them is
// left alone (uncore-frequency-tpmi.c of Linux 6.12:150).
func TestUncoreDomains(t *testing.T) {
	m, k := fakeMachine(t, "intel-server")
	for _, domain := range []string{"uncore00", "uncore01"} {
		dir := uncoreDir + "/" + domain
		k.put(dir+"/min_freq_khz", "800000")
		k.put(dir+"/max_freq_khz", "2500000")
		k.put(dir+"/current_freq_khz", "1800000")
	}
	p := required(uncore).plan(t.Context(), m)
	must.Equal(t, p.Found, "800000 to 2500000 kHz, now 1800000")
	must.Be(t, len(p.Steps) == 2 && p.Steps[0].Target == uncoreDir+"/uncore00/min_freq_khz" &&
		p.Steps[1].Target == uncoreDir+"/uncore01/min_freq_khz", p)
}

// TestWeight: krund's own groups get the largest weight, those of others keep theirs, and the
// weights are restored.
func TestWeight(t *testing.T) {
	files := texts{
		"/proc/self/cgroup": "1:name=systemd:/x\n0::/system.slice/krund@a.service\n",

		groupRoot + "/system.slice/cpu.weight":             "100\n",
		groupRoot + "/system.slice/krund@a.service/memory": "",
		groupRoot + "/user.slice/cpu.weight":               "100\n",
	}
	f := check(t, required(weight), files)
	must.Be(t, f.Status == setting.StatusWillSet && f.Found == "100 /system.slice", f)
	files[groupRoot+"/system.slice/krund@a.service/cpu.weight"] = "10000\n"
	f = check(t, required(weight), files)
	must.Be(t, f.Status == setting.StatusWillSet &&
		f.Found == "10000 /system.slice/krund@a.service, 100 /system.slice", f)
	files["/proc/self/cgroup"] = "0::/\n"
	must.Equal(t, check(t, required(weight), files).Found, "none", "krund in the root group: found")
	files[groupRoot+"/cpu.weight"] = "100" // in a container, whose topmost group is not the machine's
	files["/run/systemd/container"] = "docker"
	f = check(t, required(weight), files)
	must.Be(t, f.Found == "100 /" && f.Status == setting.StatusWillSet && f.Detail != "", f)
	f = check(t, required(weight), texts{"/proc/self/cgroup": "4:cpu,cpuacct:/user/a\n0::/user\n",
		groupRoot + "/cpu/user/a/cpu.shares": "1024"})
	must.Be(t, f.Found == "cpu.shares 1024" && f.Status == setting.StatusCannot, "version 1", f)
	for name, want := range map[string]bool{"/system.slice/cpu.weight": true, "/cpu.weight": true,
		"/a/../../x/cpu.weight": false, "/a/cpu.max": false} {
		must.Equal(t, isWeight(groupRoot+name), want, name)
	}
}
