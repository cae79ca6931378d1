package durable_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// TestWithRoom fills the disk at each operation in turn: if space can be freed, each operation
// succeeds.
func TestWithRoom(t *testing.T) {
	content := bytes.Repeat([]byte("content "), 100)
	program := func(fsys durable.FS) error {
		if err := errors.Join(fsys.Mkdir("/x/dir", 0o755), fsys.SyncDir("/x")); err != nil {
			return err
		}
		if err := durable.WriteFile(fsys, "/x/dir/file", content, 0o644); err != nil {
			return err
		}
		f, err := fsys.OpenFile("/x/dir/file", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(content, int64(len(content))); err != nil {
			return err
		}
		return durable.SyncData(f)
	}
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		met := 0
		for op := 1; op < 20; op++ {
			disk := crashfs.New("/x")
			disk.Inject(crashfs.Fault{Op: op, Err: full, Permanent: true, Short: 77})
			made := 0
			err := program(durable.WithRoom(disk, func() bool {
				if made++; made == 2 { // the first time it frees nothing
					disk.Heal()
				}
				return made <= 2
			}))
			got := disk.Survivor(crashfs.Nothing).Files()["/x/dir/file"]
			must.Need(t, err == nil && bytes.Equal(got, append(bytes.Clone(content), content...)), full,
				"in operation", op, err, len(got), "bytes are durable")
			met += made
		}
		must.Be(t, met != 0, full, "no operation met it")
	}
}

// TestNoRoom: if no space can be freed, the error is that of the disk.
func TestNoRoom(t *testing.T) {
	disk := crashfs.New("/x")
	disk.Inject(crashfs.Fault{Err: syscall.ENOSPC, Permanent: true})
	asked := 0
	no := func() bool { asked++; return false }
	err := durable.WriteFile(durable.WithRoom(disk, no), "/x/f", nil, 0o644)
	must.Be(t, durable.IsFull(err) && asked == 1, err, "asked", asked, "times")
	disk.Heal()
	disk.Inject(crashfs.Fault{Err: syscall.EIO})
	err = durable.WriteFile(durable.WithRoom(disk, no), "/x/f", nil, 0o644)
	must.Be(t, err != nil && asked == 1, err, "asked", asked, "times")
}

// TestRoomyFilesLock: the optional interfaces of a File are preserved.
func TestRoomyFilesLock(t *testing.T) {
	fsys := durable.WithRoom(durable.OS(), func() bool { return false })
	name := filepath.Join(t.TempDir(), "lock")
	for i, want := range []string{"", "locked"} {
		f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		must.Do(t, err)
		defer f.Close()
		err = durable.Lock(f)
		must.Be(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
			"lock", i+1, err)
	}
}
