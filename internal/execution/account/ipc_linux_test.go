package account

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"krund/rig/must"
)

// The kernel's own tables, whatever is in them.
func TestRealObjects(t *testing.T) {
	for _, kind := range objectKinds {
		text, err := os.ReadFile(kind.table)
		if err != nil {
			t.Skip(err)
		}
		list, err := parseObjects(text, kind.id)
		must.Be(t, err == nil && len(list) == bytes.Count(text, []byte{'\n'})-1, kind.table, list, err, text)
	}
}

func TestRemoveObjects(t *testing.T) {
	must.Root(t, "only root can give objects away")
	const uid, other = 4_100_001, 4_100_002 // unused
	var ids []int
	for _, owner := range []uint32{uid, uid, other} {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
		desc := unix.SysvShmDesc{Perm: unix.SysvIpcPerm{Uid: owner, Mode: 0o600}}
		must.Get(unix.SysvShmCtl(id, unix.IPC_SET, &desc))(t)
		ids = append(ids, id)
	}
	removed, err := removeObjects(uid)
	must.Be(t, removed == 2 && err == nil, "removed", removed, err, "want 2")
	for i, want := range []bool{false, false, true} {
		var desc unix.SysvShmDesc
		_, err := unix.SysvShmCtl(ids[i], unix.IPC_STAT, &desc)
		must.Equal(t, (err == nil), want, "object", i, err, "want it there")
	}
	removed, err = removeObjects(uid)
	must.Be(t, removed == 0 && err == nil, "again", removed, err)
}
