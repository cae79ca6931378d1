package child

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// keyTest is the description of the keys that executions leave.
const keyTest = "krund-test"

// keyrings are those that outlive a process: of its session, of its user, and the persistent one.
var keyrings = []struct {
	name string
	id   func() (int, error)
}{
	{"session", func() (int, error) { return unix.KEY_SPEC_SESSION_KEYRING, nil }},
	{"user", func() (int, error) { return unix.KEY_SPEC_USER_KEYRING, nil }},
	{"user session", func() (int, error) { return unix.KEY_SPEC_USER_SESSION_KEYRING, nil }},
	{"persistent", func() (int, error) {
		return unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, -1, unix.KEY_SPEC_PROCESS_KEYRING, 0, 0)
	}},
}

// partKeys prints which keyrings have a key of an earlier execution, and leaves one in each. With
// "lock" it then takes all rights but that to read from its user's keyring.
func partKeys(args []string) int {
	var rings []int
	for _, k := range keyrings {
		ring, err := k.id()
		if err != nil {
			fmt.Fprintf(os.Stdout, "%s: %v\n", k.name, err)
		}
		rings = append(rings, ring)
		if _, err := unix.KeyctlSearch(ring, "user", keyTest, 0); err == nil {
			fmt.Fprintf(os.Stdout, "found in %s\n", k.name)
		}
	}
	for i, ring := range rings {
		if _, err := unix.AddKey("user", keyTest, []byte("secret"), ring); err != nil {
			fmt.Fprintf(os.Stdout, "%s: %v\n", keyrings[i].name, err)
		}
	}
	if len(args) > 0 {
		const ownerReads = 0x0003_0000 // KEY_USR_VIEW | KEY_USR_READ
		if err := unix.KeyctlSetperm(unix.KEY_SPEC_USER_KEYRING, ownerReads); err != nil {
			fmt.Fprintln(os.Stdout, err)
		}
	}
	return 0
}

func needKeyrings(t *testing.T) {
	t.Helper()
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skipf("no keyrings: %v", err)
	}
}

// TestKeyrings: what one execution leaves in the kernel's keyrings the next one does not find.
func TestKeyrings(t *testing.T) {
	needRoot(t)
	needKeyrings(t)
	for i := range 2 {
		c := part("keys")
		c.User = User{Name: "keys", UID: 54322, GID: 54322, Own: true}
		run := mustSucceed(t, c)
		must.Be(t, run.Stdout.Text == "" && len(run.Findings) == 0, "execution", i+1, run.Stdout.Text,
			"findings", run.Findings)
	}
}

// TestLockedKeyring: a keyring that not even root may clear is reported.
func TestLockedKeyring(t *testing.T) {
	needRoot(t)
	needKeyrings(t)
	uid := 60_000_000 + os.Getpid() // its keyring stays locked until the machine restarts
	c := part("keys", "lock")
	c.User = User{Name: "keys", UID: uid, GID: uid, Own: true}
	mustSucceed(t, c)
	const want = "refused, continued without: clear the user's keyrings, " +
		"where keys of the last execution stay until the machine restarts: required key not available"
	run := mustSucceed(t, c)
	must.Be(t, len(run.Findings) == 1 && run.Findings[0] == want, "findings", run.Findings, "want", want)
}
