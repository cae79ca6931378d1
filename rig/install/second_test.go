package install

import (
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// enableByHand enables the unit of the second experiment with systemctl, which krunctl refuses to
// do. It starts while the first experiment is running.
const enableByHand = `mkdir -p /etc/systemd/system/krund@second.service.d
cat >/etc/systemd/system/krund@second.service.d/experiment.conf <<'END'
[Unit]
After=krund@first.service
[Service]
Environment="KRUND_CONFIG=/srv/krund/second.toml"
END
systemctl daemon-reload && systemctl enable krund@second.service`

// TestTwoExperiments: two experiments require the machine exclusively. krunctl rejects the second.
// If it is enabled anyway, krund disables it, sends one notification, and it continues when the
// first has ended.
func TestTwoExperiments(t *testing.T) {
	rig.Long(t, "5 boots")
	var files rig.Payload
	files.Experiment("first", "[experiment]\nexecutions = 2\n"+common+tells)
	files.Experiment("second", "[experiment]\nexecutions = 1\n"+common+tells)
	files.Script("/usr/local/rig/tell", tell)
	m := rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	m.PowerOn()
	m.WaitUp()
	m.Sh("mkdir -p /srv/krund/second.krun/results && cd /srv/krund && krunctl enable first.toml")
	refusal, status := m.Try("cd /srv/krund && krunctl enable second.toml")
	must.Be(t, status == 1 && strings.Contains(refusal, "krund@first.service is already enabled"),
		"enabling the second: status", status, refusal)
	m.Sh(enableByHand)
	m.Send("systemctl reboot")
	m.WaitReboot()
	m.PowerOn()
	ended := m.RunToEnd(rig.UnitOf("first"), 4)
	must.Equal(t, ended.Result, "success", "the first ended with", ended)
	m.WaitUp()
	state, _ := m.Try("systemctl is-enabled krund@first.service krund@second.service")
	must.Equal(t, state, "disabled\ndisabled", "the units are", "want both disabled")
	const why = "another krund is running on this machine"
	told, log := m.Sh("cat /srv/told"), m.Sh("cat /srv/krund/second.krun/log")
	n := strings.Count(told, "RIG-TOLD stopped second: cannot be started")
	must.Be(t, n == 1 && strings.Contains(told, why), "notified of the second", n, "times, want once", told)
	must.Equal(t, strings.Count(log, why), 1, "the log of the second")
	m.Sh("cd /srv/krund && krunctl enable --start second.toml")
	ended = m.RunToEnd(rig.UnitOf("second"), 3)
	must.Equal(t, ended.Result, "success", "the second ended with", ended)
	m.WaitUp()
	m.Sh("krunctl check /srv/krund/first.krun && krunctl check /srv/krund/second.krun")
}

// slowly is a systemctl that takes longer to disable a unit than krund waits.
const slowly = `#!/bin/sh
[ "$1" != disable ] || sleep 600
exec /usr/bin/systemctl "$@"
`

// TestSlowSystemctl: a finished experiment counts as finished even if systemctl does not answer in
// time.
func TestSlowSystemctl(t *testing.T) {
	rig.Long(t, "two boots, and a minute of waiting")
	var files rig.Payload
	files.Experiment("slow", "[experiment]\nexecutions = 1\n"+common+tells)
	files.Enable("slow")
	files.Script("/usr/local/rig/tell", tell)
	files.Script("/usr/local/sbin/systemctl", slowly)
	m := rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	m.PowerOn()
	ended := m.RunToEnd(rig.UnitOf("slow"), 3)
	must.Equal(t, ended.Result, "success", "krund ended with", ended)
	m.WaitUp()
	state, _ := m.Try("systemctl is-enabled krund@slow.service")
	must.Equal(t, state, "disabled", "the unit is", "want disabled")
	told, log := m.Sh("cat /srv/told"), m.Sh("cat /srv/krund/slow.krun/log")
	must.Contain(t, told, "RIG-TOLD finished slow: finished: 1 of 1 completed", "no notification with")
	must.Be(t, !strings.Contains(log, "krund ended") && strings.Contains(log, "finished"), "the log", log)
}
