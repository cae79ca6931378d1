// Package install tests on complete machines what a user does: installing krund, starting, holding,
// stopping and upgrading it.
package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/internal/schedule"
	"krund/rig"
	"krund/rig/must"
)

// brief is an experiment of two executions that uses the benchmarks installed by the package.
var brief = "[experiment]\nexecutions = 2\nbenchmarks = \"/usr/lib/krund/benchmarks\"\n" + common

// common is the rest of the configuration of a short experiment.
var common = rig.Limits("5m", "256MiB") + rig.NBody(2) + rig.WarnOnly

// debianPackage returns the package built by make release; it skips the test if there is none.
func debianPackage(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("../../build/release/krund_*_amd64.deb")
	if err != nil || len(found) != 1 {
		const why = "no package in build/release; run: make release"
		must.Need(t, os.Getenv("KRUND_RIG_REQUIRED") != "1", why)
		t.Skip(why)
	}
	return found[0]
}

// files lists the files that a package, krund or a user could leave behind.
const files = `find /etc /usr /lib /opt /home /root /srv /var/lib /var/spool /run/systemd/system -xdev \( -path /var/lib/dpkg -o -path /var/lib/systemd \) -prune -o -print | sort`

// TestPackageRunsAnExperimentAndLeavesNothingButData: a fresh machine, dpkg, krunctl enable, the
// experiment over reboots, purge.
func TestPackageRunsAnExperimentAndLeavesNothingButData(t *testing.T) {
	rig.Long(t, "five boots, and needs make release")
	rig.FindImage(t)
	var payload rig.Payload
	must.Do(t, payload.Copy("/mnt/krund.deb", debianPackage(t)))
	payload.Announce(rig.UnitOf(""))
	payload.Text(rig.ExperimentHome+"/brief.toml", brief)
	m := rig.New(t, rig.Options{Payload: &payload, Kernel: rig.Tickless})
	m.PowerOn()
	m.WaitRunning()
	before := m.Sh(files)
	accounts := m.Sh("cat /etc/passwd /etc/group")
	m.Sh("rm /etc/dpkg/dpkg.cfg.d/99mmdebstrap") // it excludes manual pages
	t.Log(m.Sh("dpkg -i /mnt/krund.deb"))
	t.Run("everything is in place, and nothing is enabled", func(t *testing.T) { installed(t, m.For(t)) })
	t.Run("enable prints what will happen, and how to stop it",
		func(t *testing.T) { enable(t, m.For(t), "brief") })
	m.Send("systemctl reboot")
	m.WaitReboot()
	ended := m.RunToEnd(rig.UnitOf("brief"), 4)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	m.WaitRunning()
	t.Log(m.Sh("krunctl status " + rig.ExperimentHome + "/brief.toml && krunctl check " +
		rig.ExperimentHome + "/brief.krun"))
	m.Sh("dpkg --purge krund")
	after := without(m.Sh(files), rig.ExperimentHome+"/brief.krun")
	must.Equal(t, after, without(before, "/etc/dpkg/dpkg.cfg.d/99mmdebstrap"), "purging leaves a difference",
		difference(before, after))
	after = m.Sh("cat /etc/passwd /etc/group")
	must.Equal(t, after, accounts, "purging leaves accounts", difference(accounts, after))
	out, _ := m.Try("systemctl list-unit-files --no-legend 'krund*' 'bench*'")
	must.Be(t, !strings.Contains(out, "krund@.service") && !strings.Contains(out, "bench.target"),
		"units after purging", out)
	m.Shutdown()
	complete(t, m.Experiment(rig.ExperimentHome+"/brief.krun"), 2)
}

func installed(t *testing.T, m *rig.Machine) {
	for _, file := range []string{
		"/usr/bin/krund", "/usr/bin/krunctl", "/usr/libexec/krund/runner-c", "/usr/lib/krund/libkrun.so",
		"/usr/lib/systemd/system/krund@.service",
		"/usr/lib/systemd/system/bench.target", "/usr/share/man/man8/krund.8.gz",
		"/usr/share/man/man1/krunctl.1.gz", "/usr/share/man/man1/krunctl-enable.1.gz",
		"/usr/share/man/man5/krund.toml.5.gz", "/usr/share/bash-completion/completions/krunctl",
		"/usr/share/zsh/site-functions/_krunctl",
		"/usr/share/fish/vendor_completions.d/krunctl.fish",
		"/usr/share/doc/krund/examples/warmup-study.toml", "/usr/share/doc/krund/copyright", "/etc/krund",
	} {
		_, status := m.Try("test -e " + file)
		must.Equal(t, status, 0, file, "is not there")
	}
	for _, command := range []string{"krund --version", "krund version", "krunctl version",
		"dpkg --verify krund", "systemd-analyze verify --man=no krund@brief.service bench.target"} {
		out, status := m.Try(command)
		must.Be(t, status == 0 && !strings.Contains(out, "missing"), command, "status", status, out)
	}
	out, status := m.Try("krunctl check")
	must.Be(t, status <= 1 && strings.Contains(out, "frequency"), "krunctl check: status", status, out)
	if out := m.Sh("systemctl list-units --all --no-legend 'krund@*' bench.target; ls " +
		"/etc/systemd/system/*.wants"); strings.Contains(out, "krund@") {
		t.Errorf("started or enabled:\n%s", out)
	}
}

// enable enables an experiment and requires the announcement. The machine keeps running.
func enable(t *testing.T, m *rig.Machine, name string) {
	out := m.Sh("krunctl enable " + rig.ExperimentHome + "/" + name + ".toml")
	for _, want := range []string{
		"/etc/systemd/system/krund@" + name + ".service.d/experiment.conf", "restarts before each of them",
		"krunctl disable --stop " + name, "krunctl status ",
	} {
		must.Contain(t, out, want, "krunctl enable")
	}
	must.Equal(t, m.Sh("systemctl is-enabled "+rig.UnitOf(name)), "enabled", "the unit")
	state, _ := m.Try("systemctl is-active " + rig.UnitOf(name))
	must.Equal(t, state, "inactive", "the unit is", "before the restart")
}

// complete requires an experiment without problems and with all slots completed.
func complete(t *testing.T, e *rig.Experiment, slots int) {
	t.Helper()
	e.Check(t)
	n := e.Count(schedule.Completed)
	must.Be(t, n == slots && len(e.Slots) == slots, n, "of", len(e.Slots), "slots completed, want", slots)
}

// without removes the lines that begin with prefix.
func without(text, prefix string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, prefix) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// difference returns the lines that are in only one of two texts.
func difference(before, after string) string {
	var out []string
	for _, c := range []struct{ sign, has, lacks string }{{"-", before, after}, {"+", after, before}} {
		lacks := map[string]bool{}
		for line := range strings.SplitSeq(c.lacks, "\n") {
			lacks[line] = true
		}
		for line := range strings.SplitSeq(c.has, "\n") {
			if !lacks[line] {
				out = append(out, c.sign+line)
			}
		}
	}
	return strings.Join(out, "\n")
}

// exists reports whether a file is on the disk of a machine that is off.
func exists(t *testing.T, m *rig.Machine, name string) bool {
	t.Helper()
	_, err := m.Disk().Read(name)
	must.Need(t, err == nil || errors.Is(err, fs.ErrNotExist), err)
	return err == nil
}

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

// TestUpgradeInTheMiddleOfAnExperiment: a krund with a newer record format continues the experiment
// and reads both formats. The older one, installed again, reports that it cannot and changes
// nothing.
func TestUpgradeInTheMiddleOfAnExperiment(t *testing.T) {
	rig.Long(t, "seven boots")
	const name = "brief"
	var files rig.Payload
	files.Experiment(name, "[experiment]\nexecutions = 4\n"+common)
	files.Enable(name)
	m := rig.KrundUp(t, rig.Options{Payload: &files, Kernel: rig.Tickless})
	boots := func(n int) {
		t.Helper()
		for range n {
			m.Execution(rig.UnitOf(name))
		}
	}
	newer := programs(t, rig.Build(t, "krund", "-tags", "rignext"), rig.Build(t, "krunctl", "-tags",
		"rignext"))
	older := programs(t, rig.Build(t, "krund"), rig.Build(t, "krunctl"))

	boots(2) // the schedule, the first execution
	m.Install(newer)
	boots(1)
	formats(t, m, name, 1, 2)

	m.Install(older)
	before := disk(t, m, name)
	m.PowerOn()
	if ended := m.RunToEnd(rig.UnitOf(name), 0); ended.Result != "exit-code" || ended.Status != 1 {
		t.Errorf("the older krund ended with %+v, want exit status 1", ended)
	}
	m.WaitUp()
	const message = "a newer krund has continued"
	out := m.Sh("journalctl -b -o cat -u " + rig.UnitOf(name))
	must.Be(t, strings.Contains(out, message) && strings.Contains(out, "nothing was changed"),
		"the journal does not say", message, out)
	state, _ := m.Try("systemctl is-enabled " + rig.UnitOf(name))
	must.Equal(t, state, "disabled", "the unit is", "after a failed start, want disabled")
	out, _ = m.Try("krunctl check-data " + rig.ExperimentHome + "/" + name + ".krun")
	must.Contain(t, out, "newer format", "the older krunctl check-data says")
	m.Shutdown()
	after := disk(t, m, name)
	for file, content := range before {
		must.Be(t, bytes.Equal(after[file], content), "the older krund has changed", file)
	}
	must.Equal(t, len(after), len(before), "files before the older krund", "after it")

	m.Install(newer)
	m.Sh("krunctl enable --start " + rig.ExperimentHome + "/" + name + ".toml")
	ended := m.RunToEnd(rig.UnitOf(name), 3)
	must.Need(t, ended.Result == "success", "krund ended with", ended)
	m.WaitUp()
	directory := rig.ExperimentHome + "/" + name + ".krun"
	out = m.Sh("krunctl check " + directory + " && krunctl show " + directory)
	must.Be(t, !strings.Contains(out, "damaged"), "krunctl says", out)
	must.Contain(t, m.Sh("krunctl status "+directory), "4", "krunctl status")
	m.Shutdown()
	formats(t, m, name, 1, 2, 2, 2)
}

// programs returns a payload that replaces both programs.
func programs(t *testing.T, krund, krunctl string) *rig.Payload {
	t.Helper()
	var files rig.Payload
	for _, file := range []string{krund, krunctl} {
		must.Do(t, files.Copy("/usr/local/bin/"+filepath.Base(file), file))
	}
	return &files
}

// disk returns the files of an experiment that record what was measured and what is outstanding.
// The journal of settings is not included, because the unit restores changes of another boot in any
// case.
func disk(t *testing.T, m *rig.Machine, name string) map[string][]byte {
	t.Helper()
	dir := m.Disk().Dump(rig.ExperimentHome + "/" + name + ".krun")
	content := map[string][]byte{}
	for _, pattern := range []string{"schedule", "config.toml", "results/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		must.Need(t, err == nil && len(names) != 0, pattern, err)
		for _, file := range names {
			content[strings.TrimPrefix(file, dir)] = must.Get(os.ReadFile(file))(t)
		}
	}
	return content
}

// formats requires records of these formats, one for each slot from the first on.
func formats(t *testing.T, m *rig.Machine, name string, want ...int) {
	t.Helper()
	reader := results.NewReader(durable.OS(),
		filepath.Join(m.Disk().Dump(rig.ExperimentHome+"/"+name+".krun"), "results"))
	list, err := reader.List()
	must.Need(t, err == nil && len(list.Records) == len(want), len(list.Records), "records", err, len(want))
	for i, n := range list.Records {
		if format, err := reader.Format(n); err != nil || format != want[i] {
			t.Errorf("%s has format %d, %v; want %d", n, format, err, want[i])
		}
	}
}
