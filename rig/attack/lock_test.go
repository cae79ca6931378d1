package attack

import (
	"strings"
	"testing"

	"krund/rig"
	"krund/rig/must"
)

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
