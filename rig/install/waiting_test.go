package install

import (
	"strings"
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// waiting is an experiment of three executions of that benchmark in Python. Ordinary boots start
// /etc/systemd/system/noise.service; bench.target does not.
func waiting(t *testing.T, enabled bool) *rig.Machine {
	t.Helper()
	var files rig.Payload
	config := strings.NewReplacer(`runner = "c"`, "runner = \"python\"\npath = \"python3\"", "bench.so",
		"bench.py", `"c"`, `"python"`, "nbody", "waits", "iterations = 2", "iterations = 1").Replace(common)
	files.Experiment("ask", "[experiment]\nexecutions = 3\n"+config)
	files.Waiting()
	files.Unit("noise.service", "[Service]\nExecStart=/bin/sleep infinity\n", "multi-user.target")
	files.Unit("noise.timer", "[Timer]\nOnBootSec=1s\nUnit=noise.service\n", "timers.target")
	if enabled {
		files.Enable("ask")
	}
	return rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
}

const (
	askConfig    = rig.ExperimentHome + "/ask.toml"
	askDirectory = rig.ExperimentHome + "/ask.krun"
	askUnit      = "krund@ask.service"
)

// letGo lets the running benchmark end once it has started.
func letGo(m *rig.Machine) {
	m.WaitConsole(rig.Running)
	m.Sh(rig.GoOn)
}

// heldBoot requires a boot in which krund has logged why it is held, and everything else is as
// usual.
func heldBoot(t *testing.T, m *rig.Machine, why string) {
	t.Helper()
	ended := m.RunToEnd(askUnit, 0)
	must.Equal(t, ended.Result, "success", "krund ended with", ended, "want a success")
	m.WaitUp()
	must.Equal(t, m.WaitRunning(), "running", "the system", "want running")
	out := m.Sh("journalctl -b -o cat -u " + askUnit)
	must.Be(t, strings.Contains(out, "nothing is run") && strings.Contains(out, why),
		"the journal does not say", why, out)
}

// TestHoldResumeAndStop: users get ordinary boots when they want them, and the experiment continues
// afterwards.
func TestHoldResumeAndStop(t *testing.T) {
	rig.Long(t, "eight boots")
	m := waiting(t, true)
	m.SetKernelArguments(rig.Tickless + " krund.hold")
	m.PowerOn()
	heldBoot(t, m, "krund.hold")
	m.Shutdown()
	must.Be(t, !exists(t, m, askDirectory+"/schedule") && !exists(t, m, askDirectory+"/lock"),
		"a boot with krund.hold began the experiment")

	m.SetKernelArguments(rig.Tickless)
	m.PowerOn() // makes the schedule
	m.WaitReboot()
	m.PowerOn()
	m.WaitUp()
	m.WaitConsole(rig.Running)
	out := m.Sh("krunctl hold " + askConfig)
	must.Be(t, strings.Contains(out, "finishes the running execution") &&
		strings.Contains(out, "krunctl resume"), "krunctl hold says", out)
	m.Send(rig.GoOn)
	m.WaitReboot()
	m.PowerOn()
	heldBoot(t, m, "krunctl resume "+askDirectory)
	must.Contain(t, m.Sh("krunctl resume "+askConfig), "resumed", "krunctl resume")

	m.Sh("mkdir -p /etc/krund && touch /etc/krund/hold && sync")
	m.Reboot()
	heldBoot(t, m, "/etc/krund/hold")
	m.Sh("rm /etc/krund/hold && sync")

	m.Reboot()
	m.WaitConsole(rig.Running)
	must.Contain(t, m.Sh("krunctl stop "+askConfig), "after", "krunctl stop")
	m.Sh(rig.GoOn)
	ended := m.RunToEnd(askUnit, 0)
	must.Equal(t, ended.Result, "success", "krund ended with", ended, "after krunctl stop")
	state, _ := m.Try("systemctl is-enabled " + askUnit)
	must.Equal(t, state, "disabled", "after krunctl stop the unit is", "want disabled")
	m.Shutdown()
	e := m.Experiment(askDirectory)
	e.Check(t)
	must.Be(t, e.Count(schedule.Completed) == 2 && e.Count(schedule.Outstanding) == 1, "slots", e.Slots,
		"want two completed, one outstanding")

	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	m.Sh("krunctl enable --start " + askConfig)
	letGo(m)
	ended = m.RunToEnd(askUnit, 1)
	must.Equal(t, ended.Result, "success", "krund ended with", ended, "after krunctl enable --start")
	m.Shutdown()
	complete(t, m.Experiment(askDirectory), 3)
}

// TestBenchTargetStartsOnlyWhatIsNeeded, and the boot after the experiment's end is an ordinary
// one.
func TestBenchTargetStartsOnlyWhatIsNeeded(t *testing.T) {
	rig.Long(t, "six boots")
	m := waiting(t, false)
	m.PowerOn()
	m.WaitRunning()
	ordinary := m.Sh("systemctl list-units --no-legend --plain --type=service,timer --state=active | cut " +
		"-d' ' -f1")
	m.Sh("krunctl enable " + askConfig)
	m.Sh("systemctl is-enabled noise.service noise.timer")
	m.SetKernelArguments(rig.Tickless + " systemd.unit=bench.target")
	m.Reboot() // makes the schedule
	m.WaitReboot()
	for boot := range 3 {
		m.PowerOn()
		m.WaitUp()
		m.WaitConsole(rig.Running)
		if boot == 0 {
			active := m.Sh("systemctl list-units --no-legend --plain --type=service,timer,target " +
				"--state=active | cut -d' ' -f1")
			for _, want := range []string{"bench.target", askUnit, "systemd-logind.service", "dbus.service"} {
				must.Contain(t, active, want, "is not active")
			}
			for _, no := range []string{"noise.", ".timer", "timers.target", "multi-user.target"} {
				must.Be(t, !strings.Contains(active, no), no, "is active", active)
			}
			t.Logf("services of an ordinary boot:\n%s\nof bench.target:\n%s", ordinary, active)
		}
		m.Send(rig.GoOn)
		if boot < 2 {
			m.WaitReboot()
		}
	}
	ended := m.RunToEnd(askUnit, 0)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.SetKernelArguments(rig.Tickless)
	m.PowerCut() // the command that let it continue was the last one of that boot
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	state := m.Sh("systemctl is-active multi-user.target noise.service noise.timer")
	must.Equal(t, state, "active\nactive\nactive", "after the end multi-user.target, service and timer are")
	out := m.Sh("journalctl -b -o cat -u " + askUnit)
	must.Be(t, !strings.Contains(out, "krund"), "krund ran in the ordinary boot", out)
	m.Shutdown()
	complete(t, m.Experiment(askDirectory), 3)
}
