package control

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"krund/internal/experiment/config/setting"
)

// tuner is a program that changes settings of a machine while it runs.
type tuner struct {
	name  string   // of its process; the unit is name.service unless unit is set
	unit  string   // a unit that works without a process of its own
	moves []string // names of controls
}

// tuners are the programs of Debian, Fedora and Ubuntu that change what krund sets, by their own
// documentation. A process that runs under another name is not found.
var tuners = []tuner{
	{name: "power-profiles-daemon", moves: []string{"frequency", "turbo", "energy_perf_bias"}},
	{name: "tuned", moves: []string{"frequency", "turbo", "energy_perf_bias", "uncore", "cstates", "thp",
		"ksm", "numa_balancing", "writeback", "stat_interval", "timer_migration", "nmi_watchdog",
		"irq_affinity"}},
	{name: "tuned-ppd", moves: []string{"frequency", "turbo", "energy_perf_bias"}},
	{name: "thermald", moves: []string{"frequency", "turbo"}},
	{name: "auto-cpufreq", moves: []string{"frequency", "turbo"}},
	{name: "cpufreqd", moves: []string{"frequency"}},
	{name: "system76-power", moves: []string{"frequency", "turbo"}},
	{name: "gamemoded", moves: []string{"frequency"}},
	{name: "laptop-mode", unit: "laptop-mode.service", moves: []string{"frequency", "turbo", "writeback"}},
	{name: "tlp", unit: "tlp.service", moves: []string{"frequency", "turbo", "nmi_watchdog", "writeback"}},
	{name: "cpufrequtils", unit: "cpufrequtils.service", moves: []string{"frequency"}},
	{name: "cpupower", unit: "cpupower.service", moves: []string{"frequency", "turbo", "energy_perf_bias"}},
	{name: "irqbalance", moves: []string{"irq_affinity"}},
	{name: "ksmtuned", moves: []string{"ksm"}},
	{name: "numad", moves: []string{"numa_balancing", "placement"}},
	{name: "uksmd", moves: []string{"ksm"}},
	{name: "intel_lpmd", moves: []string{"frequency", "placement"}},
	{name: "ananicy-cpp", moves: []string{"weight"}},
	{name: "scx_loader", moves: []string{"weight", "placement"}},
	{name: "nvidia-powerd", moves: []string{"frequency", "power_limits"}},
}

// commLength is the longest name of a process in /proc/PID/comm (TASK_COMM_LEN - 1).
const commLength = 15

// runningTuners returns the tuners that run or are active as units.
func runningTuners(ctx context.Context, m *Machine) []tuner {
	names := map[string]bool{}
	for _, pid := range m.Root.List("/proc") {
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		if name, err := m.Root.Read(path.Join("/proc", pid, "comm")); err == nil {
			names[name] = true
		}
	}
	active := map[string]bool{}
	if m.Units != nil {
		var units []string
		for _, t := range tuners {
			if t.unit != "" {
				units = append(units, t.unit)
			}
		}
		found, err := m.Units.List(ctx, units)
		for _, u := range found {
			active[u.Name] = err == nil && u.Active
		}
	}
	return slices.DeleteFunc(slices.Clone(tuners), func(t tuner) bool {
		return !names[t.name[:min(len(t.name), commLength)]] && !active[t.unit]
	})
}

// Movers names the running programs that are known to change a setting: "tuned, thermald"; "" if
// there is none.
func Movers(ctx context.Context, m *Machine, control string) string {
	var names []string
	for _, t := range runningTuners(ctx, m) {
		if slices.Contains(t.moves, control) {
			names = append(names, t.name)
		}
	}
	return strings.Join(names, ", ")
}

// CheckTuners makes the row of the programs that may move settings during a run.
func CheckTuners(ctx context.Context, m *Machine) setting.Finding {
	f := setting.Finding{
		Name: "tuners", Policy: setting.Warn, Status: setting.StatusOK, Found: "none running", Wanted: "none",
		Why: "a program that sets frequencies or interrupts by itself may move a setting during a run, " +
			"which then counts as disturbed",
	}
	var found, moves, stop []string
	for _, t := range runningTuners(ctx, m) {
		found = append(found, t.name)
		moves = append(moves, t.name+" changes "+strings.Join(t.moves, ", "))
		t.unit = cmp.Or(t.unit, t.name+".service")
		stop = append(stop, strconv.Quote(t.unit))
	}
	if len(found) > 0 {
		f.Status, f.Found = setting.StatusDiffers, strings.Join(found, ", ")
		f.Detail = strings.Join(moves, "; ")
		f.Fix = "stop them during the experiment: services = { policy = \"apply\", stop = [" +
			strings.Join(stop, ", ") + "] } in [controls]"
	}
	return f
}
