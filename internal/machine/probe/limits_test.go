package probe

import (
	"slices"
	"strings"
	"testing"

	"krund/internal/experiment/config/setting"
	"krund/internal/experiment/results"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// TestLimits: quotas of a service, of a container, and of version 1, and what they did meanwhile.
func TestLimits(t *testing.T) {
	const group = "/sys/fs/cgroup/system.slice/krund@a.service"
	const docker = "/sys/fs/cgroup/cpu/docker/x"
	for name, tt := range map[string]struct {
		files map[string]string
		found string
		stat  string // the file that counts
		text  string // of that file after the run
		again string
	}{
		"none": {map[string]string{"/proc/self/cgroup": "0::/system.slice/krund@a.service\n",
			group + "/cpu.max": "max 100000\n"}, "none", group + "/cpu.stat", "nr_throttled 9\n", ""},
		"a service": {map[string]string{"/proc/self/cgroup": "0::/system.slice/krund@a.service\n",
			group + "/cpu.max": "80000 100000\n", group + "/cpu.stat": "nr_periods 5\nnr_throttled 2\n"},
			"CPU quota of /system.slice/krund@a.service: 80000 us of each 100000 us", group + "/cpu.stat",
			"nr_periods 9\nnr_throttled 5\n", "CPU quota (80000 us of each 100000 us), 3 times"},
		"a container": {map[string]string{"/proc/self/cgroup": "0::/\n",
			"/sys/fs/cgroup/memory.high": "1073741824\n", "/sys/fs/cgroup/memory.events": "low 0\nhigh 0\n"},
			"memory.high of /: 1073741824", "/sys/fs/cgroup/memory.events", "low 0\nhigh 4\n", "4 times"},
		"version 1": {map[string]string{"/proc/self/cgroup": "2:cpu,cpuacct:/docker/x\n0::/\n",
			docker + "/cpu.cfs_quota_us": "50000", docker + "/cpu.cfs_period_us": "100000",
			docker + "/cpu.stat": "nr_throttled 0\n"},
			"CPU quota of /docker/x: 50000 us of each 100000 us", docker + "/cpu.stat",
			"nr_throttled 1\n", "/docker/x was reached"},
	} {
		dir := t.TempDir()
		for file, text := range tt.files {
			put(t, dir, file, text)
		}
		h := host.Host{Root: sysroot.New(dir)}
		f, before := CheckLimits(h), h.Limits()
		must.Be(t, f.Found == tt.found && (f.Status == setting.StatusOK) == (tt.found == "none"), name, f)
		put(t, dir, tt.stat, tt.text)
		got := strings.Join(ReachedLimits(before, h.Limits()), "; ")
		must.Be(t, strings.Contains(got, tt.again) && (got == "") == (tt.again == ""), name, got)
	}
}

// TestPowerLimits: the files and names of drivers/powercap/intel_rapl_common.c (pl_names, Linux
// 6.12:110), with the values of a desktop processor.
func TestPowerLimits(t *testing.T) {
	m, dir := machine(t, "intel-acpi-cpufreq")
	limits := ReadPowerLimits(m.Root)
	must.Be(t, limits == nil && checkPowerLimits(limits).Found == "none", "without files", limits)
	const zone = "sys/class/powercap/intel-rapl:0/"
	for file, text := range map[string]string{
		"name": "package-0", "enabled": "1",
		"constraint_0_name": "long_term", "constraint_0_power_limit_uw": "65000000",
		"constraint_0_time_window_us": "27983872",
		"constraint_1_name":           "short_term", "constraint_1_power_limit_uw": "90000000",
		"constraint_2_name": "peak_power", "constraint_2_power_limit_uw": "rubbish",
	} {
		put(t, dir, zone+file, text+"\n")
	}
	before := ReadPowerLimits(m.Root)
	want := []results.PowerLimit{
		{Zone: "intel-rapl:0", Name: "package-0", Limit: "long_term", UW: 65_000_000, WindowUS: 27_983_872,
			Enabled: true},
		{Zone: "intel-rapl:0", Name: "package-0", Limit: "short_term", UW: 90_000_000, Enabled: true},
	}
	must.EqualList(t, before, want)
	must.Equal(t, checkPowerLimits(before).Found,
		"package-0 long_term 65 W over 27.983872 s, package-0 short_term 90 W over 0 s")
	put(t, dir, zone+"constraint_0_power_limit_uw", "45000000\n")
	moved := MovedLimits(before, ReadPowerLimits(m.Root))
	if !slices.Equal(moved, []string{"the power limit long_term of package-0 (intel-rapl:0) moved from " +
		"65 W over 27.983872 s to 45 W over 27.983872 s"}) {
		t.Errorf("%q", moved)
	}
	moved = MovedLimits(before, before)
	must.Be(t, moved == nil, "nothing moved, yet", moved)
}
