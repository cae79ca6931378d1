package lifecycle

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/rig"
	"krund/rig/must"
)

// suite is the release of Debian in the image. Debian 13 is the first with soft reboots.
func suite() string { return cmp.Or(os.Getenv("KRUND_RIG_SUITE"), "bookworm") }

// goingDown prints a line when the userspace stops, before a restart of any kind.
const goingDown = `[Unit]
DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/bin/bash -c 'echo RIG-GOING-DOWN >/dev/ttyS0'
`

// TestExperimentBySoftReboot: an experiment runs to its end by soft reboots, with every third
// restart one of the hardware, and the power fails during the second soft reboot. Each record names
// what was restarted and a boot of its own, although soft reboots keep the kernel's name of the
// boot. No slot is lost or run twice.
func TestExperimentBySoftReboot(t *testing.T) {
	if suite() == "bookworm" {
		t.Skip("the image is Debian 12, whose systemd 252 has no soft reboots; run: make rig-trixie")
	}
	const executions = 6
	text := strings.Replace(byKexec(executions), "reboot = \"kexec\"\nhardware_every = 5",
		"reboot = \"soft\"\nhardware_every = 3", 1)
	var files rig.Payload
	files.Experiment(name, text)
	files.Unit("rig-going-down.service", goingDown, "sysinit.target")
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless,
		Time: executions * 15 * time.Second})
	t.Log(m.Sh("systemctl --version | head -1; krunctl check " + rig.ExperimentHome + "/" + name +
		".toml | grep -A3 restart"))
	m.Send("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	m.WaitConsole("^RIG-GOING-DOWN$")
	m.WaitConsole("^RIG-GOING-DOWN$")
	m.PowerCut()
	e := completed(t, m, executions)
	var kinds []string
	boots, kernels := map[string]bool{}, map[string]bool{}
	for _, r := range e.Records {
		kinds = append(kinds, r.Reboot)
		boots[r.BootID] = true
		kernel, number, _ := strings.Cut(r.BootID, "+")
		kernels[kernel] = true
		must.Be(t, (number != "") == (r.Reboot == results.RebootSoft), "slot", r.Slot,
			"after a restart of kind", r.Reboot, "is of boot", r.BootID)
		t.Logf("slot %d, attempt %d: %s, boot %s, started %s", r.Slot, r.Attempt, r.Reboot, r.BootID,
			r.Started.Format(time.TimeOnly))
	}
	must.Equal(t, len(boots), executions, "names of boots for", "executions")
	// The second restart was cut, and the third and sixth were planned so.
	const soft, hardware = results.RebootSoft, results.RebootHardware
	must.EqualList(t, kinds, []string{soft, hardware, hardware, soft, soft, hardware}, "the records name")
	must.Equal(t, len(kernels), 4, "starts of the kernel, want 4")
}
