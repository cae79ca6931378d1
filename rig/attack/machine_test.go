// Package attack lets local users and benchmarks attack krund on a real machine, by its unit and as
// root. Each test makes an attack that once succeeded or that docs/security.md promises to stop,
// and looks at the machine afterwards.
package attack

import (
	"testing"

	"krund/rig"
)

// mallory is a user without any rights. Every machine of the suite has it.
const mallory = "mallory"

// addMallory makes the account; it is there when krund starts.
const addMallory = "getent passwd mallory >/dev/null || useradd --create-home --shell /bin/bash mallory"

// machine boots a machine with the files, a user without rights, and a CPU without its tick, which
// controls ask for.
func machine(t *testing.T, files *rig.Payload) *rig.Machine {
	t.Helper()
	m := rig.Krund(t, rig.Options{Payload: files, Kernel: rig.Tickless})
	m.PowerOn()
	m.WaitUp()
	m.Sh(addMallory)
	return m
}

// TestMalloryHasNoRights: the other tests mean nothing when the account is more than an ordinary
// one.
func TestMalloryHasNoRights(t *testing.T) {
	m := machine(t, &rig.Payload{})
	if out, status := m.Try("runuser -u " + mallory + " -- cat /etc/shadow"); status == 0 {
		t.Errorf("%s reads /etc/shadow:\n%s", mallory, out)
	}
}
