// Package attack lets local users and benchmarks attack krund on a complete machine, where krund
// runs in its unit and as root. Each test performs an attack that once succeeded or that
// docs/security.md promises to prevent, and inspects the machine afterwards.
package attack

import (
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
