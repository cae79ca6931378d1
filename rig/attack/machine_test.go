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
	return m
}

// TestMalloryHasNoRights checks the premise of the other tests: that the account is an ordinary
// one.
func TestMalloryHasNoRights(t *testing.T) {
	m := machine(t, &rig.Payload{})
	out, status := m.Try("runuser -u " + mallory + " -- cat /etc/shadow")
	must.Be(t, status != 0, mallory, "reads /etc/shadow", out)
}
