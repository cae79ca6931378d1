// Package attack lets local users and benchmarks attack krund on a complete machine, where krund
// runs in its unit and as root. Each test performs an attack that once succeeded or that
// docs/security.md promises to prevent, and inspects the machine afterwards.
package attack

import (
	"fmt"
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

// mallory is an unprivileged user. Every machine of the suite has this account.
const mallory = "mallory"

// addMallory creates the account; it exists when krund starts.
const addMallory = "getent passwd mallory >/dev/null || useradd --create-home --shell /bin/bash mallory"

// machine boots a machine with the files, an unprivileged user, and a tickless CPU, which controls
// request.
func machine(t *testing.T, files *rig.Payload) *rig.Machine {
	t.Helper()
	m := rig.Krund(t, rig.Options{Payload: files, Kernel: rig.Tickless})
	m.PowerOn()
	m.WaitUp()
	m.Sh(addMallory)
	out, status := m.Try(asMallory("cat /etc/shadow")) // the premise: the account is an ordinary one
	must.Be(t, status != 0, mallory, "reads /etc/shadow", out)
	return m
}

// TestMallory uses one machine for what mallory does to experiments of root.
func TestMallory(t *testing.T) {
	m := withHeld(t, map[string]string{"x": held("", ""),
		"hook": held("attempts = 1", "\n[hooks]\nbefore = [[\"/srv/hooks/hook\"]]\n")})
	for _, attack := range []struct {
		name string
		do   func(*testing.T, *rig.Machine)
		long bool
	}{
		{"exchanges a hook", hookExchanged, false},
		{"holds the lock", lockOfABystander, false},
		{"and a program of root holds it", lockOfAStranger, true},
		{"writes a journal", hostileJournal, false},
	} {
		t.Run(attack.name, func(t *testing.T) {
			if attack.long {
				rig.Long(t, "the short selection has three attacks")
			}
			m := m.For(t)
			m.Sh("rm -rf /srv/krund/x.krun")
			attack.do(t, m)
		})
	}
}

// exchange repeatedly exchanges two directories as fast as it can.
const exchange = `import ctypes, sys
rename = ctypes.CDLL(None, use_errno=True).renameat2
a, b = (name.encode() for name in sys.argv[1:])
while True:
    if rename(-100, a, -100, b, 2) != 0:  # AT_FDCWD, RENAME_EXCHANGE
        sys.exit("renameat2: errno %d" % ctypes.get_errno())
`

// TestPathRace: a parent directory of the configuration belongs to mallory, who exchanges root's
// directory for his own while root checks it. His configuration is never accepted, at whatever
// moment he does it.
func TestPathRace(t *testing.T) {
	rig.Long(t, "the short selection has three attacks")
	good := strings.Replace(held("", ""), `reboot = "none"`, `reboot = "hardware"`, 1)
	evil := strings.Replace(good, "executions = 2", "executions = 7", 1)
	var files rig.Payload
	files.Held()
	files.Script("/usr/local/rig/exchange.py", exchange)
	m := machine(t, &files)
	m.Sh("install -d -o mallory /srv/above && mkdir /srv/above/exp && install -d -o mallory /srv/above/evil")
	m.Put("/srv/above/exp/x.toml", 0o644, []byte(good))
	m.Put("/srv/above/evil/x.toml", 0o644, []byte(evil))
	m.Sh("chown mallory /srv/above/evil/x.toml && ln -s /srv/krund/benchmarks /srv/above/exp/ && ln -s " +
		"/srv/krund/benchmarks /srv/above/evil/")
	racer := m.Start(asMallory("python3 /usr/local/rig/exchange.py /srv/above/exp /srv/above/evil"))
	const tries = 40
	out := m.Sh(fmt.Sprintf("for i in $(seq %d); do krund check /srv/above/exp/x.toml 2>&1; krunctl enable "+
		"--root /tmp/image /srv/above/exp/x.toml 2>&1; done; :", tries))
	racer.Kill()
	must.Be(t, !strings.Contains(out, "7 process executions") && !strings.Contains(out, "installed"),
		"mallory's configuration was accepted", out)
	n := strings.Count(out, "belongs to user")
	must.Be(t, n >= tries, n, "refusals, want one of each of", tries, "tries", out)
}

// hookExchanged: the hook's directory becomes writable for all users after the experiment has
// started, and mallory replaces the hook. Root does not run his hook.
func hookExchanged(t *testing.T, m *rig.Machine) {
	m.Sh("mkdir /srv/hooks && printf '#!/bin/sh\\necho \"$0\" >>/srv/ran\\n' >/srv/hooks/hook && chmod 755 " +
		"/srv/hooks/hook")
	m.Hold()
	krund := m.Start("krund run /srv/krund/hook.toml")
	m.WaitHeld()
	m.Sh("chmod 777 /srv/hooks")
	m.Put("/tmp/evil", 0o755, []byte("#!/bin/sh\nid >/srv/evil\n"))
	m.Sh(asMallory("cp /tmp/evil /srv/hooks/new") + " && " +
		asMallory("mv -f /srv/hooks/new /srv/hooks/hook"))
	m.LetGo()
	out, status := krund.Wait()
	must.Be(t, status != 0 &&
		strings.Contains(out+m.Sh("cat /srv/krund/hook.krun/log"), "/srv/hooks can be changed by others"),
		"krund: status", status, out)
	must.Equal(t, m.Sh("cat /srv/ran; cat /srv/evil 2>/dev/null; :"), "/srv/hooks/hook", "ran",
		"want root's hook once")
}

// lockOfABystander: mallory cannot take a lock of krund before, during or after an experiment,
// and the machine is restored when krund is killed while he tries.
func lockOfABystander(t *testing.T, m *rig.Machine) {
	before := m.Sh("cat " + statInterval)
	m.Sh("mkdir -p /srv/krund/x.krun/results")
	m.Hold()
	krund := m.Start("krund run /srv/krund/x.toml")
	m.WaitHeld()
	for _, lock := range []string{"/srv/krund/x.krun/lock", "/run/krund/lock"} {
		out, status := m.Try(asMallory("flock --exclusive --nonblock " + lock + " true"))
		must.Be(t, status != 0 && strings.Contains(out, "ermission denied"), lock, "mallory's status", status,
			out)
	}
	setting(m, changed)
	krund.Kill()
	setting(m, before)
	m.LetGo()
	m.WaitNoKrund()

	// An earlier version left a lock that all users can open, and mallory holds it.
	m.Sh("chmod 644 /srv/krund/x.krun/lock")
	his := m.Start(asMallory("flock --exclusive /srv/krund/x.krun/lock sleep 1000"))
	m.Await("mallory's lock", func() (string, bool) {
		_, status := m.Try("flock --nonblock /srv/krund/x.krun/lock true")
		return "", status != 0
	})
	out, status := m.Try("krunctl repair --machine /srv/krund/x.toml")
	must.Equal(t, status, 0, "krunctl repair --machine: status", out)
	m.Hold()
	krund = m.Start("krund run /srv/krund/x.toml")
	m.WaitHeld()
	setting(m, changed)
	krund.Kill()
	setting(m, before)
	m.LetGo()
	m.WaitNoKrund()
	his.Kill()
}

// lockOfAStranger: a program of root that holds the lock but is not krund is named in the
// message, and does not prevent the guard from restoring the machine.
func lockOfAStranger(t *testing.T, m *rig.Machine) {
	before := m.Sh("cat " + statInterval)
	m.Hold()
	krund := m.Start("krund run /srv/krund/x.toml")
	m.WaitHeld()
	setting(m, changed)
	m.Sh("rm /srv/krund/x.krun/lock && install -m 600 /dev/null /srv/krund/x.krun/lock")
	stranger := m.Start("flock --exclusive /srv/krund/x.krun/lock sleep 1000")
	m.Await("the lock", func() (string, bool) {
		_, status := m.Try("flock --nonblock /srv/krund/x.krun/lock true")
		return "", status != 0
	})
	krund.Kill()
	setting(m, before)
	m.LetGo()
	m.WaitNoKrund()
	out, status := m.Try("krund run /srv/krund/x.toml")
	must.Be(t, status == 1 && strings.Contains(out, "is not krund") && strings.Contains(out, "flock"),
		"krund run: status", status, out)
	stranger.Kill()
}
