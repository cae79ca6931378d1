package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"krund/internal/control/machines"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

func TestMemoryBesideHugePages(t *testing.T) {
	tests := []struct {
		name string
		m    Meminfo
		want int64
	}{
		{"none", Meminfo{"MemTotal": 1000}, 1000},
		{"of the usual size, before Linux 4.19",
			Meminfo{"MemTotal": 1000, "HugePages_Total": 3, "Hugepagesize": 100}, 700},
		{"of several sizes", Meminfo{"MemTotal": 1000, "HugePages_Total": 3, "Hugepagesize": 100,
			"Hugetlb": 800}, 200},
		{"more than there is", Meminfo{"MemTotal": 1000, "HugePages_Total": 1 << 50, "Hugepagesize": 100}, 0},
	}
	for _, tt := range tests {
		must.Equal(t, tt.m.Ordinary(), tt.want, tt.name)
	}
}

func TestKernelOptionFromConfigGz(t *testing.T) {
	dir := t.TempDir()
	h := Host{Root: sysroot.New(dir)}
	packed := string(must.Get(os.ReadFile("testdata/config.gz"))(t))
	must.Write(t, filepath.Join(dir, "proc/sys/kernel/osrelease"), "6.1.0-18-arm64\n")
	must.Write(t, filepath.Join(dir, "proc/config.gz"), packed)
	must.Equal(t, h.KernelOption("CONFIG_NO_HZ_FULL"), "CONFIG_NO_HZ_FULL is not set", "option")
	must.Write(t, filepath.Join(dir, "proc/config.gz"), packed[:20])
	must.Equal(t, h.KernelOption("CONFIG_NO_HZ_FULL"), "", "option of a torn file")
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"MemTotal: 5 kB\n", "ID=debian\nID_LIKE=\"x y\"\n", "# CONFIG_A is not set\nCONFIG_B=y",
		"flags\t: a hypervisor",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, n := range parseMeminfo(text) {
			must.Be(t, n >= 0, name, n)
		}
		parseDistribution(text)
		parseKernelOption(text, "CONFIG_A")
		CPUFlag(text, "hypervisor")
	})
}

// TestCPUsOfKinds: the default CPUs of a benchmark are of one kind, and the sibling threads that go
// offline are not among those that stay.
func TestCPUsOfKinds(t *testing.T) {
	for _, c := range []struct {
		tree           string
		fast, primary  string
		list, cpus     string
		online, failed string
	}{
		{"intel-hybrid", "0-1", "0-3", "", "1", "0-3", ""},
		{"intel-hybrid", "0-1", "0-3", "2-3", "2-3", "0-3", ""},
		{"intel-pstate-active", "", "0-1", "", "1-3", "0-3", ""},
		{"intel-pstate-active", "", "0-1", "2", "", "0-1", "only 0-1 are online"},
		{"arm64", "", "0-1", "", "1", "0-1", ""}, // equal capacities are one kind
	} {
		h := Host{Root: sysroot.New(machines.New(t, c.tree))}
		online := must.Get(ParseCPUList(c.online))(t)
		all := must.Get(h.Online())(t)
		cpus, err := h.BenchmarkCPUs(c.list, online)
		must.Be(t, h.FastCPUs().String() == c.fast && h.PrimaryThreads(all).String() == c.primary &&
			cpus.String() == c.cpus && (err == nil) == (c.failed == "") && (err == nil ||
			strings.Contains(err.Error(), c.failed)), c, "fast", h.FastCPUs(), "primary",
			h.PrimaryThreads(all), "benchmark", cpus, err)
	}
	// big.LITTLE: drivers/base/arch_topology.c, cpu_capacity
	for _, c := range []struct{ capacities, want string }{
		{"446 446 1024 1024", "2-3"},
		{"1024 1024 279 279 905 905 984 984", "0-1,6-7"}, // 905 is another design, 984 a slower cluster
		{"1009 1009 1009 1009 1009 1024 1009 1009", ""},  // a favored core
		{"1024 1024", ""},
	} {
		dir := t.TempDir()
		for cpu, capacity := range strings.Fields(c.capacities) {
			cpu := "sys/devices/system/cpu/cpu" + strconv.Itoa(cpu)
			must.Write(t, filepath.Join(dir, cpu, "cpu_capacity"), capacity+"\n")
		}
		must.Equal(t, (Host{Root: sysroot.New(dir)}).FastCPUs().String(), c.want, c.capacities)
	}
	// Speed Select on a Xeon Gold 6252N: 2.8 GHz on some cores, 2.1 on the others
	dir := t.TempDir()
	for cpu, khz := range []string{"2100000", "2800000", "2800000", "2100000"} {
		must.Write(t, filepath.Join(dir, CPUFreqDir, "policy"+strconv.Itoa(cpu), "base_frequency"), khz)
	}
	must.Equal(t, (Host{Root: sysroot.New(dir)}).FastCPUs().String(), "1-2")
}

func TestParseCPUList(t *testing.T) {
	tests := []struct {
		text string
		want CPUs
		bad  bool
	}{
		{"", nil, false},
		{"\n", nil, false},
		{"(null)\n", nil, false}, // an empty nohz_full on some kernels
		{"0", CPUs{0}, false},
		{"0-3,8,10-12\n", CPUs{0, 1, 2, 3, 8, 10, 11, 12}, false},
		{"3,1,2-3", CPUs{1, 2, 3}, false},
		{"3-1", nil, true},
		{"-1", nil, true},
		{"1-", nil, true},
		{"a", nil, true},
		{"1,,2", nil, true},
		{"0-99999999", nil, true},
		{"18446744073709551616", nil, true},
	}
	for _, tt := range tests {
		got, err := ParseCPUList(tt.text)
		must.Be(t, slices.Equal(got, tt.want) && (err != nil) == tt.bad, "ParseCPUList", tt.text, got, err,
			tt.want, "error", tt.bad)
	}
}

func TestParseCPUMask(t *testing.T) {
	tests := []struct {
		text string
		want CPUs
		bad  bool
	}{
		{"0", nil, false},
		{"f\n", CPUs{0, 1, 2, 3}, false},
		{"3,00000001", CPUs{0, 32, 33}, false},
		{"", nil, true},
		{"1ffffffff", nil, true},
		{"x", nil, true},
	}
	for _, tt := range tests {
		got, err := ParseCPUMask(tt.text)
		must.Be(t, slices.Equal(got, tt.want) && (err != nil) == tt.bad, "ParseCPUMask", tt.text, got, err,
			tt.want, "error", tt.bad)
	}
}

func TestCPUsPrint(t *testing.T) {
	tests := []struct {
		set        CPUs
		list, mask string
	}{
		{nil, "", "0"},
		{CPUs{5}, "5", "20"},
		{CPUs{0, 1}, "0-1", "3"},
		{CPUs{0, 1, 2, 4, 6, 7}, "0-2,4,6-7", "d7"},
		{CPUs{0, 32, 95}, "0,32,95", "80000000,00000001,00000001"},
	}
	for _, tt := range tests {
		must.Equal(t, tt.set.String(), tt.list, []int(tt.set), "prints as")
		must.Equal(t, tt.set.Mask(), tt.mask, "mask of", []int(tt.set))
	}
}

func TestCPUsSets(t *testing.T) {
	a, b := CPUs{0, 1, 2, 3}, CPUs{1, 3, 5}
	must.EqualList(t, a.Minus(b), CPUs{0, 2}, "minus")
	must.Be(t, !a.Contains(b) && a.Contains(CPUs{1, 3}) && a.Contains(nil) && !CPUs(nil).Contains(a),
		"contains is wrong")
}

func FuzzParseCPUList(f *testing.F) {
	for _, s := range []string{"", "0-3,8", "(null)", "7-7", "1,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseCPUList(text)
		if err != nil {
			return
		}
		again, err := ParseCPUList(set.String())
		must.Be(t, err == nil && again.Equal(set), text, set, "which prints as", set.String(), "and reads as",
			again, err)
		mask, err := ParseCPUMask(set.Mask())
		must.Be(t, err == nil && mask.Equal(set), text, "is", set, "whose mask", set.Mask(), "reads as", mask,
			err)
	})
}

func FuzzParseCPUMask(f *testing.F) {
	for _, s := range []string{"0", "ff", "3,ffffffff", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseCPUMask(text)
		if err != nil {
			return
		}
		again, err := ParseCPUMask(set.Mask())
		must.Be(t, err == nil && again.Equal(set), text, set, "whose mask reads as", again, err)
	})
}

func TestSustainable(t *testing.T) {
	tests := []struct {
		name string
		p    FrequencyPolicy
		khz  int64
		sure bool
	}{
		{"intel_pstate with HWP names its base frequency",
			FrequencyPolicy{Driver: "intel_pstate", Base: 3600000, HWMax: 5000000}, 3600000, true},
		{"amd-pstate: nominal frequency of CPPC",
			FrequencyPolicy{Driver: "amd-pstate-epp", Nominal: 3800000, HWMax: 4850000}, 3800000, true},
		{"amd-pstate passive", FrequencyPolicy{Driver: "amd-pstate", Nominal: 3800000, HWMax: 4850000},
			3800000, true},
		{"cppc_cpufreq", FrequencyPolicy{Driver: "cppc_cpufreq", Nominal: 3000000, HWMax: 3000000}, 3000000,
			true},
		{"table with an entry for turbo", FrequencyPolicy{Driver: "acpi-cpufreq",
			Steps: []int64{3601000, 3600000, 800000}, HWMax: 3601000}, 3600000, true},
		// Only with CPPC is the maximum above the table (acpi-cpufreq.c:848-866 of Linux 6.12).
		{"table without one", FrequencyPolicy{Driver: "acpi-cpufreq", Steps: []int64{2400000, 1800000},
			HWMax: 2900000}, 2400000, true},
		{"boost frequencies within the table",
			FrequencyPolicy{Driver: "cpufreq-dt", Steps: []int64{1000000, 2000000, 2200000},
				Boosts: []int64{2200000}}, 2000000, true},
		{"nothing known: the hardware's maximum, without warrant",
			FrequencyPolicy{Driver: "other", HWMax: 2000000}, 2000000, false},
		{"only boost frequencies", FrequencyPolicy{Driver: "other", Steps: []int64{1}, Boosts: []int64{1}},
			0, true},
	}
	for _, tt := range tests {
		khz, sure := tt.p.Sustainable()
		must.Be(t, khz == tt.khz && sure == tt.sure, tt.name, khz, sure, "want", tt.khz, tt.sure)
	}
}

func TestIntelBase(t *testing.T) {
	tests := []struct {
		name                    string
		lo, hi, states, percent int64
		noTurbo                 string
		want                    int64
	}{
		{"Core i5-2500 with turbo on", 1600000, 3700000, 22, 19, "0", 3300000},
		{"Core i7-4790 with turbo on", 800000, 4000000, 33, 13, "0", 3600000},
		{"turbo off: the driver has lowered the maximum", 1600000, 3300000, 22, 19, "1", 3300000},
		{"turbo off before Linux 6.10: the maximum is still that of turbo", 1600000, 3700000, 22, 19, "1",
			3300000},
		{"Core i7-4790K with turbo off on Linux 6.1", 800000, 4400000, 37, 11, "1", 4000000},
		{"Core i7-4790K with turbo off on Linux 6.10", 800000, 4000000, 37, 11, "1", 4000000},
		{"turbo off in the firmware, P-states not said", 1600000, 3300000, 0, 0, "1", 3300000},
		{"a processor without turbo", 1600000, 3300000, 18, 0, "1", 3300000},
		{"not said", 1600000, 3700000, 0, 0, "0", 0},
		{"hybrid: no turbo_pct, all counts as lasting", 400000, 4400000, 41, 0, "0", 4400000},
		{"rubbish", 1, 0, 22, 200, "0", 0},
	}
	for _, tt := range tests {
		must.Equal(t, intelBase(tt.lo, tt.hi, tt.states, tt.percent, tt.noTurbo), tt.want, tt.name)
	}
}
