package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// byKexec is an experiment of one key whose executions start with kexec, and every fifth with the
// hardware.
func byKexec(executions int) string {
	text := strings.Replace(quick, "executions = 2", fmt.Sprintf("executions = %d\nreboot = \"kexec\"\n"+
		"hardware_every = 5", executions), 1)
	return strings.Replace(text, "fannkuch_redux = { parameter = 7 }\n", "", 1) +
		"[machines.\"*\".experiment]\nskip = [\"*:CPython:*\"]\n"
}

// completed lets the experiment run to its end and checks that each slot was completed once.
func completed(t *testing.T, m *rig.Machine, executions int) *rig.Experiment {
	t.Helper()
	m.RunToEnd(rig.UnitOf(name), executions)
	m.WaitUp()
	log := m.Sh("journalctl -o cat -u " + rig.UnitOf(name) + " | tail -5")
	m.Shutdown()
	e := m.Experiment(directory)
	e.Check(t)
	if n := e.Count(schedule.Completed); n != executions || len(e.Records) != executions {
		t.Errorf("%d slots completed, %d records, want %d of each\n%s", n, len(e.Records), executions, log)
	}
	return e
}

// TestExperimentByKexec: an experiment runs to its end by kexec, and the power fails during one of
// them. Each record names what was restarted, and no slot is lost or run twice.
func TestExperimentByKexec(t *testing.T) {
	rig.Long(t, "twenty executions take minutes; make rig runs them")
	const executions = 20
	var files rig.Payload
	files.Experiment(name, byKexec(executions))
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Time: executions * 15 * time.Second})
	m.Reboot() // the first start has an argument that unpacks files, which kexec would repeat
	m.WaitRunning()
	t.Log(m.Sh("krunctl check " + rig.ExperimentHome + "/" + name + ".toml | grep -A3 restart"))
	m.Send("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	m.WaitConsole("Rebooting with kexec")
	m.PowerCut()
	e := completed(t, m, executions)
	kinds := map[string]int{}
	boots := map[string]bool{}
	took := map[string]time.Duration{}
	var last time.Time
	for i, r := range e.Records {
		kinds[r.Reboot]++
		boots[r.BootID] = true
		if i > 0 {
			took[r.Reboot] += r.Started.Sub(last)
		}
		last = r.Started
	}
	must.Equal(t, len(boots), len(e.Records), "boots for", "records")
	must.Be(t, kinds[results.RebootKexec] >= executions/2 && kinds[results.RebootHardware] != 0,
		"the records name", kinds, "want kexec for most and hardware after the power cut")
	for kind, d := range took {
		t.Logf("%d executions after %s: %s from the execution before on average", kinds[kind], kind,
			(d / time.Duration(max(kinds[kind], 1))).Round(time.Millisecond))
	}
}

// TestSoftRebootIsRefused: Debian 12 has systemd 252, and krund says what is missing.
func TestSoftRebootIsRefused(t *testing.T) {
	if suite() != "bookworm" {
		t.Skip("the image is not Debian 12")
	}
	var files rig.Payload
	files.Experiment(name, strings.Replace(quick, "executions = 2", "executions = 2\nreboot = \"soft\"", 1))
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	m.Sh("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	ended := m.RunToEnd(rig.UnitOf(name), 0)
	must.Equal(t, ended.Result, "exit-code", "krund ended with", ended, "want an exit status")
	must.Contain(t, m.Log(name), "soft reboots came with version 254", "the log")
	m.Shutdown()
}
