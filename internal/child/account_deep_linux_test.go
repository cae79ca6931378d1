package child

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// dig makes directories in each other below dir, of the user's.
func dig(t *testing.T, dir string, levels, uid int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; err == nil && i < levels; i++ {
		above := at
		err = errors.Join(unix.Mkdirat(above, "d", 0o700), unix.Fchownat(above, "d", uid, uid, unix.AT_SYMLINK_NOFOLLOW))
		if err == nil {
			at, err = unix.Openat(above, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		err = errors.Join(err, unix.Close(above))
	}
	if err = errors.Join(err, unix.Close(at)); err != nil {
		t.Fatal(err)
	}
}

// TestDeepLeftovers: directories in each other, deeper than a path can name or a process open at once, keep no account.
func TestDeepLeftovers(t *testing.T) {
	m := testMachine(t, "")
	a, _ := mustFresh(t, m)
	dig(t, m.path(accountHome), 45_000, a.UID)
	dig(t, m.path("/tmp"), 1000, a.UID)
	_, findings, err := m.fresh(context.Background())
	if err != nil {
		t.Errorf("%.500v", err)
	}
	if len(findings) != 1 || findings[0] != "removed 1000 files that the last benchmark left in /tmp" {
		t.Errorf("findings %.500q", findings)
	}
	if _, err := os.Lstat(m.path("/tmp/d")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("/tmp/d is still there: %v", err)
	}
}
