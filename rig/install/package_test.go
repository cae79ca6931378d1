// Package install tests on complete machines what a user does: installing krund, starting, holding,
// stopping and upgrading it.
package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
