// Package lifecycle lets krund run complete experiments on complete machines: to the end over
// reboots, and through power cuts.
package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

const (
	name      = "quick"
	directory = rig.ExperimentHome + "/" + name + ".krun"
)

// quick has two benchmarks in C and Python with two executions each: eight slots. It changes every
// setting of the rig's machine, and requires nothing that does not fit into 512 MB.
var quick = "[experiment]\nexecutions = 2\norder = \"interleaved\"\n" + rig.Limits("3m", "256MiB") + `
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
` + rig.WarnOnly

const slots = 8

// machine has the experiment, which begins with the first start if enabled.
func machine(t *testing.T, enabled bool) *rig.Machine {
	t.Helper()
	var files rig.Payload
	files.Experiment(name, quick)
	if enabled {
		files.Enable(name)
	}
	return rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless, Time: 85 * time.Second})
}

// settings are the settings that an experiment changes and must restore.
const settings = "grep -H . /sys/devices/system/cpu/cpufreq/policy*/scaling_governor " +
	"/proc/sys/kernel/perf_event_max_sample_rate /proc/sys/kernel/perf_cpu_time_max_percent " +
	"/proc/sys/kernel/randomize_va_space /proc/sys/vm/overcommit_memory /proc/sys/kernel/nmi_watchdog"

// belongings are what an experiment could leave on the machine or remove: files, accounts,
// processes, cgroups. It excludes the backups of account files that useradd creates, and the
// drop-in, which krunctl removes.
const belongings = `find /etc /root /home -xdev -type f -not -name '*-' -not -path '/etc/systemd/system/krund@*' | sort | xargs -d '\n' sha256sum
find /etc /root /home /opt /tmp /var/tmp /dev/shm /srv -xdev -not -name 'systemd-private-*' -not -path '*/systemd-private-*/*' \
  -not -name '*-' -not -path '/etc/systemd/system/krund@*' -not -path '/srv/krund/quick.krun*' | sort
ps -eo user:32=,args= | grep -E '^krun |[k]rund ' | sort
find /sys/fs/cgroup -type d -name '*krun*' -not -path '*system-krund*'
cat /proc/swaps`

func TestExperimentRunsToItsEndOverReboots(t *testing.T) {
	m := machine(t, false)
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	before, owned := m.Sh(settings), m.Sh(belongings)
	out := m.Sh("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	for _, want := range []string{fmt.Sprint(slots, " process executions"),
		"this machine restarts before each of them", "krunctl disable --stop " + name} {
		must.Contain(t, out, want, "krunctl enable")
	}
	if ended := m.RunToEnd(rig.UnitOf(name), 2*slots); ended.Result != "success" {
		m.WaitUp()
		t.Fatalf("krund ended with %+v; its log:\n%s", ended, m.Sh("journalctl -o cat -u "+rig.UnitOf(name)))
	}
	m.WaitUp()
	m.WaitRunning()
	must.Equal(t, m.Sh(settings), before, "the machine was not restored.\nbefore", "after")
	must.Equal(t, m.Sh(belongings), owned, "the machine has not what it had.\nbefore", "after")
	state, _ := m.Try("systemctl is-enabled " + rig.UnitOf(name))
	must.Equal(t, state, "disabled", "the unit is", "want disabled")
	m.Shutdown()
	e := m.Experiment(directory)
	e.Check(t)
	if n := e.Count(schedule.Completed); n != slots || len(e.Records) != slots {
		t.Errorf("%d slots completed, %d records, want %d of each", n, len(e.Records), slots)
	}
	boots, keys := map[string]bool{}, map[string]int{}
	for _, r := range e.Records {
		checkRecord(t, r)
		boots[r.BootID] = true
		keys[r.Key.String()]++
	}
	must.Equal(t, len(boots), slots, "the", "records are of", "boots, want one each")
	must.Equal(t, len(keys), 4, "the records are of", "want two benchmarks with two VMs")
}

func checkRecord(t *testing.T, r results.Record) {
	t.Helper()
	id := results.Name{Slot: r.Slot, Attempt: r.Attempt}.String()
	must.Be(t, r.Outcome == results.Completed && r.Reboot == results.RebootHardware && r.BootID != "" &&
		len(r.WallNS) == r.Iterations, id, r.Outcome, "after reboot", r.Reboot, "in boot", r.BootID,
		len(r.WallNS), "of", r.Iterations, "iterations; reasons", strings.Join(r.Reasons, "; "))
	must.Be(t, r.Process.Account == "krun" && r.Process.UID != 0 && r.Process.FreshHome, id, "ran as",
		r.Process.Account, "uid", r.Process.UID, "fresh home", r.Process.FreshHome,
		"want krun with a fresh home")
	// the comparison at the end is only meaningful if the settings were changed meanwhile
	set := map[string]bool{}
	for _, c := range r.Machine.Controls {
		set[c.Name] = c.Status == "set"
	}
	if !set["perf_rate"] || !slices.ContainsFunc(r.Machine.Controls,
		func(c results.Control) bool { return c.Name == "tickless" && c.Status == "ok" }) {
		t.Errorf("%s: the controls were %+v; want perf_rate set, and tickless as wanted", id,
			r.Machine.Controls)
	}
	must.Equal(t, fmt.Sprint(r.Process.Strays, r.Process.OOMKills, r.Process.TimedOut), "0 0 false", id,
		"strays, OOM kills, timed out")
}

const config = rig.ExperimentHome + "/" + name + ".toml"

// onTerminal is a command of the guest with a pseudo terminal, on which answers is typed.
func onTerminal(answers, command string) string {
	return "printf '" + answers + "' | script -qec '" + command + "' /dev/null"
}

// TestRunOnAConsoleRestartsNothing: root runs an experiment with reboots on a terminal, as its file
// is and with each kind of restart, and with the variable of krund's unit in the environment. The
// machine stays on, and nothing on it changes. krunctl enable says when it would restart, and asks:
// after a no everything is as before, after a yes the machine restarts, and goes on in the next
// boot.
func TestRunOnAConsoleRestartsNothing(t *testing.T) {
	var files rig.Payload
	files.Experiment(name, quick)
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	const state = settings + "; cat /proc/sys/kernel/random/boot_id; find /srv/krund -maxdepth 1; " +
		"find /etc/systemd /run/krund 2>&1 | sort\n" + belongings
	before := m.Sh(state)
	unchanged := func(after string) {
		t.Helper()
		must.Equal(t, m.Sh(state), before, after, "changed the machine.\nbefore", "after")
	}
	for _, flags := range []string{"", "--reboot hardware ", "--reboot kexec ", "--reboot soft "} {
		for _, variable := range []string{"", "KRUND_UNIT=" + rig.UnitOf(name) + " "} {
			command := variable + "krund run " + flags + config
			out, status := m.Try(onTerminal("", command))
			for _, want := range []string{"nothing was started", "restarts this machine before each of 8",
				"krund run --reboot none " + config, "krund run --quick " + config,
				"krunctl enable " + config} {
				must.Need(t, status == 2 && strings.Contains(out, want), command, "status", status,
					"want 2 and", want, out)
			}
		}
	}
	unchanged("krund run")
	enable := "krunctl enable --start " + config
	out, status := m.Try(onTerminal(`no\n`, enable))
	must.Be(t, status == 1 && strings.Contains(out, "nothing was changed") &&
		strings.Contains(out, "the first    at once"), enable, "status", status, out)
	unchanged(enable + " and a no")
	m.Send(onTerminal(`y\n`, enable))
	m.WaitReboot()
	m.Execution(rig.UnitOf(name))
	must.Equal(t, len(m.Experiment(directory).Records), 1, "records after a boot, want 1")
}
