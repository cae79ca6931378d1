package account

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// TestHomeInMemory: it is bounded in bytes and in files, empty for each execution, and gone with
// the account.
func TestHomeInMemory(t *testing.T) {
	m := testMachine(t, "")
	m.home = 1 << 20
	t.Cleanup(func() {
		must.Do(t, unmountHome(m.path(accountHome)))
	})
	if _, _, err := m.fresh(t.Context()); errors.Is(err, unix.EPERM) {
		t.Skip(err)
	}
	a, _ := mustFresh(t, m)
	var st unix.Statfs_t
	err := unix.Statfs(m.path(accountHome), &st)
	must.Be(t, err == nil && st.Type == unix.TMPFS_MAGIC && st.Files == 256, "type", st.Type, st.Files,
		"files", err)
	err = os.WriteFile(m.path(accountHome+"/big"), make([]byte, 2<<20), 0o600)
	must.Fail(t, err, unix.ENOSPC, "more than its size")
	digOwned(t, m.path(accountHome), 100, a.UID)
	mustFresh(t, m) // which checks that it is empty
	m.home = 0
	mustFresh(t, m)
	err = unix.Statfs(m.path(accountHome), &st)
	must.Be(t, err == nil && st.Files != 256, "without the option: type", st.Type, st.Files, "files", err)
	m.home = 1 << 20
	mustFresh(t, m)
	must.Get(m.remove(t.Context()))(t)
	_, err = os.Lstat(m.path(accountHome))
	must.Fail(t, err, os.ErrNotExist, "still there")
}

// TestForeignHomeMount: what others have mounted there is not unmounted, and the account stays.
func TestForeignHomeMount(t *testing.T) {
	m := testMachine(t, "")
	mustFresh(t, m)
	home := m.path(accountHome)
	if err := unix.Mount("disk", home, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(home, unix.MNT_DETACH) })
	must.Do(t, os.WriteFile(home+"/kept", nil, 0o600))
	if _, _, err := m.fresh(t.Context()); err == nil {
		t.Error("no error")
	} else {
		t.Log(err)
	}
	must.Get(os.Lstat(home + "/kept"))(t)
}

func TestIsHomeMount(t *testing.T) {
	const own = "36 35 0:50 / /home/krun rw,nosuid - tmpfs krund-home rw,size=1024k\n"
	for table, want := range map[string]bool{
		own: true, own + own: true, "": false, "1 2 3": false,
		"36 35 0:50 / /home/krun rw - tmpfs tmpfs rw\n":                  false,
		"36 35 0:50 / /home rw - tmpfs krund-home rw\n":                  false,
		own + "37 36 8:1 / /home/krun rw shared:1 - ext4 /dev/sda1 rw\n": false,
	} {
		must.Be(t, isHomeMount(table, accountHome) == want, table, want)
	}
}
