package host

import (
	"os"
	"path/filepath"
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
