// Package lifecycle lets krund run whole experiments on real machines: to the end over reboots, and through power cuts.
package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/results"
	"krund/internal/schedule"
	"krund/rig"
)

const (
	name   = "quick"
	folder = rig.ExperimentHome + "/" + name + ".krun"
)

// quick has two benchmarks, C and Python, two executions each: eight slots. It changes what can be changed on the rig's machine, and demands
// nothing that its 512 MB cannot give.
const quick = `
[experiment]
executions = 2
order = "interleaved"

[limits]
timeout = "3m"
heap = "256MiB"

[wait]
startup = "0s"
sync = "0s"

[temperature]
base_wait = "0s"

[vms.C]
runner = "c"
iterations = 5
variants = ["default-c"]

[vms.CPython]
runner = "python"
path = "python3"
iterations = 3
variants = ["default-python"]

[variants.default-c]
entry = "bench.so"
subfolder = "c"

[variants.default-python]
entry = "bench.py"
subfolder = "python"

[benchmarks]
nbody = { parameter = 1000 }
fannkuch_redux = { parameter = 7 }

[controls]
isolcpus = "warn"
cstates = "warn"
overcommit = "warn"
`

const slots = 8

// machine has the experiment, which begins with the first start when enabled.
func machine(t *testing.T, enabled bool) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Experiment(name, quick)
	if enabled {
		files.Enable(name)
	}
	return rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
}

// settings are what an experiment changes and must put back.
const settings = "grep -H . /sys/devices/system/cpu/cpufreq/policy*/scaling_governor /proc/sys/kernel/perf_event_max_sample_rate " +
	"/proc/sys/kernel/perf_cpu_time_max_percent /proc/sys/kernel/randomize_va_space /proc/sys/vm/overcommit_memory /proc/sys/kernel/nmi_watchdog"

func TestExperimentRunsToItsEndOverReboots(t *testing.T) {
	m := machine(t, false)
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	before := m.Sh(settings)
	out := m.Sh("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	for _, want := range []string{fmt.Sprint(slots, " process executions"), "this machine restarts before each of them", "krunctl disable --stop " + name} {
		if !strings.Contains(out, want) {
			t.Errorf("krunctl enable does not say %q:\n%s", want, out)
		}
	}
	if ended := m.RunToEnd(rig.UnitOf(name), 2*slots); ended.Result != "success" {
		m.WaitUp()
		t.Fatalf("krund ended with %+v; its log:\n%s", ended, m.Sh("journalctl -o cat -u "+rig.UnitOf(name)))
	}
	m.WaitUp()
	m.WaitRunning()
	if after := m.Sh(settings); after != before {
		t.Errorf("the machine is not as it was.\nbefore:\n%s\nafter:\n%s", before, after)
	}
	if state, _ := m.Try("systemctl is-enabled " + rig.UnitOf(name)); state != "disabled" {
		t.Errorf("the unit is %s, want disabled", state)
	}
	m.Shutdown()
	e := m.Experiment(folder)
	for _, problem := range e.Problems() {
		t.Error(problem)
	}
	if n := e.Count(schedule.Completed); n != slots || len(e.Records) != slots {
		t.Errorf("%d slots completed, %d records, want %d of each", n, len(e.Records), slots)
	}
	for _, r := range e.Records {
		checkRecord(t, r)
	}
}

func checkRecord(t *testing.T, r results.Record) {
	t.Helper()
	id := results.Name{Slot: r.Slot, Attempt: r.Attempt}.String()
	if r.Outcome != results.Completed || r.Reboot != results.RebootHardware || r.BootID == "" || len(r.WallNS) != r.Iterations {
		t.Errorf("%s: %s after reboot %q in boot %q, %d of %d iterations; reasons: %s",
			id, r.Outcome, r.Reboot, r.BootID, len(r.WallNS), r.Iterations, strings.Join(r.Reasons, "; "))
	}
	if r.Process.Account != "krun" || r.Process.UID == 0 || !r.Process.FreshHome {
		t.Errorf("%s: ran as %q, uid %d, fresh home %v; want krun with a fresh home", id, r.Process.Account, r.Process.UID, r.Process.FreshHome)
	}
	if got := fmt.Sprint(r.Process.Strays, r.Process.OOMKills, r.Process.TimedOut); got != "0 0 false" {
		t.Errorf("%s: strays, OOM kills, timed out: %s", id, got)
	}
}
