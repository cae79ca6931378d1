package lifecycle

import (
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

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
