package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"krund/rig/must"
)

// Of Linux 6.1; the name of the second process contains what separates the fields.
const (
	procSelfStat = "812 (stress) R 1 812 812 0 -1 4194304 95 0 0 0 250 50 0 0 20 0 1 0 3460 2809856 231 " +
		"18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	procOddStat = "7 (a) b (\x1b[2J) S 1 812 812 0 -1 4194304 95 0 0 0 1 2 0 0 20 0 1 0 3461\n"
)

func TestProcesses(t *testing.T) {
	h := machine(t, map[string]string{"/proc/812/stat": procSelfStat, "/proc/7/stat": procOddStat,
		"/proc/9/stat": "9 (gone", "/proc/irq/stat": "no process"})
	list := h.Processes()
	i := slices.IndexFunc(list, func(p Process) bool { return p.PID == 812 })
	must.Be(t, len(list) == 2 && i >= 0 && list[i] == (Process{812, 3460, "stress", 300, 1}), list)
	odd := list[1-max(i, 0)]
	must.Be(t, odd.Start == 3461 && !strings.Contains(odd.Name, "\x1b"), odd)
}

func TestBusiest(t *testing.T) {
	before := []Process{{1, 0, "init", 50, 0}, {2, 0, "old", 1000, 0}, {3, 5, "idle", 7, 0}}
	now := []Process{{1, 0, "init", 60, 0}, {2, 900, "new", 30, 0}, {3, 5, "idle", 7, 0},
		{4, 901, "fork", 30, 0}}
	want := []Process{{2, 900, "new", 30, 0}, {4, 901, "fork", 30, 0}, {1, 0, "init", 10, 0}}
	must.EqualList(t, Busiest(before, now, 3), want)
	must.EqualList(t, Busiest(before, now, 1), want[:1], "want one")
}

func FuzzProcess(f *testing.F) {
	f.Add(procSelfStat)
	f.Add(procOddStat)
	f.Add(") (")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := parseProcess(text)
		must.Be(t, !ok || !strings.ContainsAny(p.Name, "\x1b\n"), p, "of", text)
	})
}

// statText is /proc/PID/stat of a thread with these flags and start time; its name is an ugly one.
func statText(flags, start int) string {
	return fmt.Sprintf(
		"7 (a) b) (c) S 2 0 0 0 -1 %d 0 0 0 0 0 1 0 0 20 0 1 0 %d 0 0 18446744073709551615 0\n", flags, start)
}

func TestThreads(t *testing.T) {
	const status = "Name:\ta) b) (c\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"
	for _, tt := range []struct {
		name, stat, status string
		ok                 bool
	}{
		{"one", statText(0x208040, 31), status, true},
		{"bound forever by the kernel", statText(0x4208060, 31), status, false},
		{"short", "7 (x) S 2 0", status, false},
		{"no name", "7 S 2", status, false},
		{"no CPUs", statText(0, 31), "Name:\tx\n", false},
		{"none at all", statText(0, 31), "Cpus_allowed_list:\t\n", false},
		{"rubbish", statText(0, 31), "Cpus_allowed_list:\tx\n", false},
	} {
		got := machine(t, map[string]string{"/proc/7/task/8/stat": tt.stat,
			"/proc/7/task/8/status": tt.status, "/proc/irq/task/9/stat": ""}).Threads()
		must.Be(t, len(got) == 1 == tt.ok && (!tt.ok || got[0].ID == 8 && got[0].Start == 31 &&
			got[0].CPUs.String() == "0-1"), tt.name, got)
	}
}

// TestLimits: those of the group and of the ones above it, in both versions.
func TestLimits(t *testing.T) {
	h := machine(t, map[string]string{"/proc/self/cgroup": "2:cpu:/x\n0::/a/b\n",
		groupRoot + "/a/b/cpu.max": "max 100000\n", groupRoot + "/a/cpu.max": "80000 100000\n",
		groupRoot + "/a/cpu.stat":  "nr_periods 9\nnr_throttled 3\n",
		groupRoot + "/memory.high": "1048576\n", groupRoot + "/cpu/x/cpu.cfs_quota_us": "5000\n",
		groupRoot + "/cpu/x/cpu.cfs_period_us": "10000\n", groupRoot + "/cpu/cpu.cfs_quota_us": "-1\n"})
	must.EqualList(t, h.Limits(), []Limit{{"/a", "CPU quota", "80000 us of each 100000 us", 3},
		{"/", "memory.high", "1048576", 0}, {"/x", "CPU quota", "5000 us of each 10000 us", 0}})
}

func FuzzParseThread(f *testing.F) {
	f.Add(statText(0, 31), "Cpus_allowed_list:\t0-1\n")
	f.Add("7 (x", "Cpus_allowed_list:")
	f.Fuzz(func(t *testing.T, stat, status string) {
		got, ok := parseThread(stat, status)
		must.Be(t, !ok || len(got.CPUs) != 0, "a thread that may run nowhere", got)
	})
}
