package account

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// digOwned makes directories in each other below dir, of the user's.
func digOwned(t *testing.T, dir string, levels, uid int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; err == nil && i < levels; i++ {
		above := at
		err = errors.Join(unix.Mkdirat(above, "d", 0o700),
			unix.Fchownat(above, "d", uid, uid, unix.AT_SYMLINK_NOFOLLOW))
		if err == nil {
			at, err = unix.Openat(above, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		err = errors.Join(err, unix.Close(above))
	}
	if err = errors.Join(err, unix.Close(at)); err != nil {
		t.Fatal(err)
	}
}

// TestDeepLeftovers: directories in each other, deeper than a path can name or a process open at
// once, keep no account.
func TestDeepLeftovers(t *testing.T) {
	m := testMachine(t, "")
	a, _ := mustFresh(t, m)
	digOwned(t, m.path(accountHome), 5000, a.UID)
	digOwned(t, m.path("/tmp"), 1000, a.UID)
	_, findings := must.Get2(m.fresh(context.Background()))(t)
	must.Be(t, len(findings) == 1 && findings[0] == "removed 1000 files that the last benchmark left in /tmp",
		"findings", findings)
	if _, err := os.Lstat(m.path("/tmp/d")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("/tmp/d is still there: %v", err)
	}
}

// TestEmptyAccount: for a full disk only the files go, and those of others stay.
func TestEmptyAccount(t *testing.T) {
	m := testMachine(t, "anna:x:1000:1000::/home/anna:/bin/sh\n")
	if removed, err := m.empty(t.Context()); removed != 0 || err != nil {
		t.Errorf("without an account: %d, %v", removed, err)
	}
	a, _ := mustFresh(t, m)
	m.leave(t, a, accountHome+"/big")
	m.leave(t, a, "/tmp/big")
	must.Do(t, os.WriteFile(m.path(accountHome+"/root's"), nil, 0o600))
	for _, want := range []int{2, 0} {
		if removed, err := m.empty(t.Context()); removed != want || err != nil {
			t.Errorf("removed %d, %v; want %d", removed, err, want)
		}
	}
	for name, want := range map[string]bool{
		accountHome + "/big": false, "/tmp/big": false, accountHome: true, accountHome + "/root's": true,
		"/tmp/others": true,
	} {
		if _, err := os.Lstat(m.path(name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", name, err, want)
		}
	}
}
