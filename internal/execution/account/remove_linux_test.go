package account

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
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
	_, err := os.Lstat(m.path("/tmp/d"))
	must.Fail(t, err, fs.ErrNotExist, "/tmp/d is still there")
}

// TestEmptyAccount: for a full disk only the files go, and those of others stay.
func TestEmptyAccount(t *testing.T) {
	m := testMachine(t, "anna:x:1000:1000::/home/anna:/bin/sh\n")
	removed, err := m.empty(t.Context())
	must.Be(t, removed == 0 && err == nil, "without an account", removed, err)
	a, _ := mustFresh(t, m)
	m.leave(t, a, accountHome+"/big")
	m.leave(t, a, "/tmp/big")
	must.Do(t, os.WriteFile(m.path(accountHome+"/root's"), nil, 0o600))
	for _, want := range []int{2, 0} {
		removed, err := m.empty(t.Context())
		must.Be(t, removed == want && err == nil, "removed", removed, err, "want", want)
	}
	for name, want := range map[string]bool{
		accountHome + "/big": false, "/tmp/big": false, accountHome: true, accountHome + "/root's": true,
		"/tmp/others": true,
	} {
		_, err := os.Lstat(m.path(name))
		must.Equal(t, (err == nil), want, name, err, "want it there")
	}
}

// TestRemoveWithGroup: afterwards the machine is as it was before the account, also where userdel
// leaves the group, and doing it again does nothing.
func TestRemoveWithGroup(t *testing.T) {
	for name, defs := range map[string]string{"group with the account": "yes", "group by itself": "no"} {
		t.Run(name, func(t *testing.T) {
			m := testMachine(t, "anna:x:1000:1000::/home/anna:/bin/sh\n")
			text := strings.ReplaceAll(m.text(t, "/etc/login.defs"), "USERGROUPS_ENAB yes",
				"USERGROUPS_ENAB "+defs)
			must.Do(t, os.WriteFile(m.path("/etc/login.defs"), []byte(text), 0o644))
			passwd, group := m.text(t, "/etc/passwd"), m.text(t, "/etc/group")
			a, _ := mustFresh(t, m)
			m.leave(t, a, "/tmp/left")
			if account, group, err := m.exists(); err != nil || !account || !group {
				t.Errorf("account %t, group %t, %v", account, group, err)
			}
			removed, err := m.removeWithGroup(t.Context(), false)
			must.Need(t, err == nil && removed, "removed", removed, err)
			must.Equal(t, m.text(t, "/etc/passwd"), passwd, "passwd")
			must.Equal(t, m.text(t, "/etc/group"), group, "group")
			for _, gone := range []string{accountHome, "/tmp/left"} {
				_, err := os.Stat(m.path(gone))
				must.Fail(t, err, fs.ErrNotExist, gone, "is still there")
			}
			removed, err = m.removeWithGroup(t.Context(), false)
			must.Be(t, err == nil && !removed, "again: removed", removed, err)
		})
	}
}

func TestRemoveWithGroupIsForItsOwn(t *testing.T) {
	const person = "krun:x:1000:1000:Karl Run:/home/krun:/bin/sh\n"
	m := testMachine(t, person)
	removed, err := m.removeWithGroup(t.Context(), false)
	must.Be(t, !removed && err == nil && strings.Contains(m.text(t, "/etc/passwd"), person), "removed",
		removed, err)
}
