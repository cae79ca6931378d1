package install

import (
	"fmt"
	"strings"
	"testing"

	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

const (
	openConfig    = rig.ExperimentHome + "/open.toml"
	openDirectory = rig.ExperimentHome + "/open.krun"
	openUnit      = "krund@open.service"
)

// tells is the part of the configuration that configures notifications.
const tells = `
[notify]
command = ["/usr/local/rig/tell"]
`

// tell stores notifications: a line with the event and the subject, and the text.
const tell = `#!/bin/sh
{ echo "RIG-TOLD $KRUND_EVENT $KRUND_EXPERIMENT: $KRUND_SUBJECT"; cat; } >>/srv/told
`

// fault damages the experiment early in a boot, once, and lists what must not be changed
// afterwards.
const fault = `#!/bin/sh
rm -f "$0" /srv/told
cd /srv/krund || exit 1
%s
` + list + ` >/srv/untouched
`

// list lists the files of experiments with their hashes, wherever the fault moved them.
const list = `find /srv -type f \( -name '*.toml' -o -path '*.krun/schedule*' -o -path '*.krun/results/*' \) -exec sha256sum {} + | sort`

// unopened is a reason why an experiment cannot be opened at a boot.
type unopened struct {
	name  string
	fault string // run in /srv/krund before krund starts
	says  string // what the journal and the notification must contain
	mend  string // run in /srv/krund
}

var cannotBeOpened = []unopened{
	{"its configuration is edited", "cp -p open.toml open.was; sed -i 's/executions = /executions = 1/' " +
		"open.toml", "another configuration", "mv open.was open.toml"},
	{"its configuration has mistakes", "cp -p open.toml open.was; echo '[nonsense]' >>open.toml", "nonsense",
		"mv open.was open.toml"},
	{"its configuration is gone", "mv open.toml open.was", "open.toml", "mv open.was open.toml"},
	{"its configuration is not root's alone", "chmod 666 open.toml", "chmod go-w", "chmod go-w open.toml"},
	{"its directory is not root's alone", "chmod o+w open.krun/results", "chmod go-w",
		"chmod go-w open.krun/results"},
	{"its schedule is damaged in both copies of the header", "dd if=/dev/zero of=open.krun/schedule bs=1 " +
		"seek=100 count=700 conv=notrunc", "krunctl repair", "krunctl repair open.krun"},
	{"its schedule is gone, its records are not", "rm open.krun/schedule", "krunctl repair",
		"krunctl repair open.krun"},
	{"its disk is not mounted, with all that it has", "cd / && mv /srv/krund /srv/away && mkdir /srv/krund",
		"open.toml", "rmdir /srv/krund && mv /srv/away /srv/krund && cd /srv/krund"},
	{"its schedule is of a newer format", "cp -p open.krun/schedule schedule.was; sed -i " +
		"'s/^krund-schedule=1$/krund-schedule=7/' open.krun/schedule", "newer format",
		"mv schedule.was open.krun/schedule"},
}

// goesOn are faults that krund repairs itself, without a notification: a slot and one copy of the
// header.
const goesOn = `sed -i '0,/^O 000/s//X 000/' open.krun/schedule; dd if=/dev/zero of=open.krun/schedule bs=1 seek=100 count=50 conv=notrunc`

// TestExperimentThatCannotBeOpened: the unit is disabled, one notification is sent, the next boot
// is an ordinary one, and nothing is changed. After the fix and krunctl enable, the experiment
// continues. Each fault takes one start with it and one with an execution; some have an ordinary
// start in between.
func TestExperimentThatCannotBeOpened(t *testing.T) {
	rig.Long(t, "27 boots")
	var files rig.Payload
	executions := len(cannotBeOpened) + 4
	files.Experiment("open", fmt.Sprintf("[experiment]\nexecutions = %d\n", executions)+common+tells)
	files.Enable("open")
	files.Script("/usr/local/rig/tell", tell)
	files.Unit("rig-fault.service", "[Service]\nType=oneshot\nExecStart=-/usr/local/rig/fault\n",
		"multi-user.target")
	m := rig.Krund(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	m.Execution(openUnit) // actually the schedule
	m.Execution(openUnit)
	for i, c := range cannotBeOpened {
		t.Run(c.name, func(t *testing.T) {
			m := m.For(t)
			spoil(m, c.fault)
			givenUp(t, m, c.says)
			if i%3 == 0 { // it does not depend on the reason
				ordinaryAgain(t, m)
			}
			t.Log(m.Sh("cd /srv/krund && " + c.mend + " && krunctl enable open.toml"))
			m.Send("systemctl reboot")
			m.WaitReboot()
			m.Execution(openUnit)
			e := m.Experiment(openDirectory)
			e.Check(t)
			if n := e.Count(schedule.Completed); n != i+2 || len(e.Records) != n {
				t.Errorf("%d completed, %d records, want %d", n, len(e.Records), i+2)
			}
		})
		if t.Failed() {
			return // the others would fail as a consequence
		}
	}
	t.Run("its schedule is damaged and can be rebuilt", func(t *testing.T) {
		m := m.For(t)
		spoil(m, goesOn)
		m.Execution(openUnit)
		told, err := m.Disk().Read("/srv/told")
		must.Be(t, err != nil || !strings.Contains(string(told), "RIG-TOLD stopped"),
			"a notification was sent", told)
		must.Contain(t, m.Disk().Text(openDirectory+"/log"), "rebuilt from the results",
			"the log does not say that it was rebuilt")
	})
	t.Run("its directory is a mount point without its disk", func(t *testing.T) { notMounted(t, m.For(t)) })
	ended := m.RunToEnd(openUnit, 4)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	m.Sh("krunctl check " + openDirectory)
	m.Shutdown()
	complete(t, m.Experiment("/srv/disk"), executions)
}

// spoil adds a fault to the next start.
func spoil(m *rig.Machine, what string) {
	var files rig.Payload
	files.Script("/usr/local/rig/fault", fmt.Sprintf(fault, what))
	m.Install(&files)
}

// givenUp performs a start in which krund gives up.
func givenUp(t *testing.T, m *rig.Machine, says string) {
	t.Helper()
	m.PowerOn()
	ended := m.RunToEnd(openUnit, 0)
	must.Equal(t, ended.Result, "exit-code", "krund ended with", ended, "want an exit status")
	m.WaitUp()
	journal := m.Log("open")
	for _, want := range []string{says, "the unit " + openUnit + " is disabled, and the next boots are " +
		"ordinary ones", "`krunctl enable " + openConfig + "` and a reboot"} {
		must.Contain(t, journal, want, "the journal")
	}
	told, _ := m.Try("cat /srv/told")
	if m.Sh("ls /srv/krund") == "" { // not even the configuration's copy is there
		must.Contain(t, journal, "no notification was sent",
			"the journal does not say that no notification was sent")
	} else if strings.Count(told, "RIG-TOLD ") != 1 || !strings.HasPrefix(told,
		"RIG-TOLD stopped open: cannot be started\n") || !strings.Contains(told, says) {
		t.Errorf("want one notification with %q, got:\n%s\nthe journal:\n%s", says, told, journal)
	}
	state, _ := m.Try("systemctl is-enabled " + openUnit)
	must.Equal(t, state, "disabled", "the unit is", "want disabled")
	untouched(t, m)
}

// ordinaryAgain restarts, and requires a boot without krund.
func ordinaryAgain(t *testing.T, m *rig.Machine) {
	t.Helper()
	told, _ := m.Try("cat /srv/told")
	m.Reboot()
	must.Equal(t, m.WaitRunning(), "running", "the system", "want running")
	out := m.Log("open")
	must.Be(t, !strings.Contains(out, "krund"), "krund ran in an ordinary boot", out)
	again, _ := m.Try("cat /srv/told")
	must.Equal(t, again, told, "another notification was sent")
	untouched(t, m)
}

// untouched compares the files with those after the fault.
func untouched(t *testing.T, m *rig.Machine) {
	t.Helper()
	was, is := m.Sh("cat /srv/untouched"), m.Sh(list)
	must.Be(t, was == is && was != "", "schedule, results or configuration were touched", difference(was, is))
}

// diskUnit mounts the experiment's directory, like fstab with nofail: a boot without the disk
// continues. The type is one of mount(8)'s helpers, because systemd would create the source of a
// bind mount itself.
const (
	diskUnit = `[Mount]
What=/srv/disk
Where=` + openDirectory + `
Type=rigdisk
`
	diskHelper = `#!/bin/sh
[ -d "$1" ] || exit 32
exec mount --bind "$1" "$2"
`
)

// notMounted gives the experiment's directory its own disk, which is missing in the first boot:
// systemd does not start krund, which would find an empty directory and start over. With the disk,
// the next boot continues automatically.
func notMounted(t *testing.T, m *rig.Machine) {
	var files rig.Payload
	files.Script("/usr/local/rig/fault", fmt.Sprintf(fault, "mv open.krun /srv/open.krun && mkdir open.krun"))
	files.Script("/usr/sbin/mount.rigdisk", diskHelper)
	files.Unit("srv-krund-open.krun.mount", diskUnit, "local-fs.target")
	m.Install(&files)
	m.PowerOn()
	m.WaitUp()
	m.WaitRunning()
	untouched(t, m)
	must.Equal(t, m.Sh("ls -A "+openDirectory), "", "on the empty mount point there")
	must.Equal(t, m.Sh("systemctl is-enabled "+openUnit), "enabled", "the unit", "want enabled")
	failed := m.Sh("systemctl --failed --plain --no-legend")
	must.Be(t, strings.Contains(failed, "srv-krund-open.krun.mount") && !strings.Contains(failed, openUnit),
		"failed units, want only the mount of the disk", failed)
	log := m.Log("open")
	must.Be(t, !strings.Contains(log, "krund: "), "krund was started", log)
	m.Sh("mv /srv/open.krun /srv/disk")
	m.Send("systemctl reboot")
	m.WaitReboot()
	m.Execution(openUnit)
	must.Be(t, m.Disk().Text("/srv/disk/schedule") != "", "no schedule")
}
