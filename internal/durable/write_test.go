package durable_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// TestMain also acts as the second process of TestLockExcludesProcesses.
func TestMain(m *testing.M) {
	if name := os.Getenv("DURABLE_TEST_LOCK"); name != "" {
		os.Exit(lockOnce(name))
	}
	os.Exit(m.Run())
}

// lockOnce returns 0 if it gets the lock, and 3 if another process holds it.
func lockOnce(name string) int {
	f, err := durable.OS().OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	switch err := f.TryLock(); {
	case err == nil:
		return 0
	case errors.Is(err, durable.ErrLocked):
		return 3
	}
	return 1
}

func TestWriteFileReplacesLinkNotTarget(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write(t, target, "precious")
	must.Do(t, os.Symlink(target, link))
	must.Do(t, durable.WriteFile(durable.OS(), link, []byte("new"), 0o644))
	got, _ := os.ReadFile(target)
	must.Equal(t, string(got), "precious", "the target was overwritten", got)
}

func TestOpenFileRefusesLinkForWriting(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write(t, target, "precious")
	must.Do(t, os.Symlink(target, link))
	_, err := durable.OS().OpenFile(link, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	must.Refuse(t, err, "symbolic link")
	got, _ := os.ReadFile(target)
	must.Equal(t, string(got), "precious", "the target was overwritten", got)
	f := must.Get(durable.OS().OpenFile(link, os.O_RDONLY, 0))(t, "reading through a link")
	must.Do(t, f.Close())
}

func TestLeftOverTemps(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	for _, left := range []string{"f.tmp", "f.tmp1", "g.tmp7"} {
		write(t, filepath.Join(dir, left), "left over")
	}
	must.Do(t, durable.WriteFile(durable.OS(), name, []byte("new"), 0o644))
	removed, err := durable.RemoveTemps(durable.OS(), dir)
	must.Be(t, err == nil && slices.Equal(removed, []string{"f.tmp", "f.tmp1", "g.tmp7"}), "removed", removed,
		err)
	must.EqualList(t, list(t, dir), []string{"f"}, "directory holds")
	removed, err = durable.RemoveTemps(durable.OS(), dir)
	must.Be(t, err == nil && removed == nil, "second time removed", removed, err)
}

func TestIsTemp(t *testing.T) {
	tests := map[string]bool{
		"schedule.tmp": true, "a.json.gz.tmp1": true, "x.tmp.tmp999": true,
		"": false, "schedule": false, ".tmp": false, "schedule.tmp1000": false, "schedule.tmp01": false,
		"schedule.tmp0": false, "schedule.tmp-1": false, "schedule.tmpx": false, "schedule.tmp.gz": false,
	}
	for name, want := range tests {
		must.Equal(t, durable.IsTemp(name), want, "IsTemp", name)
	}
}

func TestSyncs(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(durable.OS().OpenFile(filepath.Join(dir, "f"), os.O_RDWR|os.O_CREATE, 0o644))(t)
	must.Get(f.Write([]byte("x")))(t)
	must.Do(t, f.SyncData(), "SyncData")
	must.Do(t, f.Close())
	must.Fail(t, f.SyncData(), fs.ErrClosed, "SyncData of a closed file")
	must.Fail(t, f.TryLock(), fs.ErrClosed, "Lock of a closed file")
	must.Do(t, durable.OS().SyncDir(dir), "SyncDir")
	must.Fail(t, durable.OS().SyncDir(filepath.Join(dir, "f")), syscall.ENOTDIR, "SyncDir of a file")
}

func TestLockExcludesProcesses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f := must.Get(durable.OS().OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644))(t)
	must.Do(t, f.TryLock())
	must.Equal(t, otherProcess(t, name), 3, "while locked the other process exits with", "want 3")
	must.Do(t, f.Close())
	must.Equal(t, otherProcess(t, name), 0, "after Close the other process exits with", "want 0")
}

func otherProcess(t *testing.T, lock string) int {
	t.Helper()
	self, err := os.Executable()
	must.Do(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "DURABLE_TEST_LOCK="+lock)
	err = cmd.Run()
	var exit *exec.ExitError
	must.Need(t, err == nil || errors.As(err, &exit), err)
	return cmd.ProcessState.ExitCode()
}

// TestWriteFileSurvives cuts the power in every operation. The tests of the simulation show that it
// detects each missing step.
func TestWriteFileSurvives(t *testing.T) {
	build := func() *crashfs.FS {
		fsys := crashfs.New("/x")
		fsys.Put("/x/f", []byte("old"))
		return fsys
	}
	program := func(fsys *crashfs.FS) error {
		return durable.WriteFile(fsys, "/x/f", []byte("new content"), 0o644)
	}
	for cut, after := range crashfs.EveryCut(build, program, crashfs.Policies(1)...) {
		got, err := durable.ReadFile(after, "/x/f")
		must.Be(t, err == nil && (string(got) == "new content" || cut.Err != nil && string(got) == "old"),
			cut, got, err)
		must.Do(t, program(after), cut, "again")
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(content), 0o644))
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(durable.OS().ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

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
		return f.SyncData()
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
		err = f.TryLock()
		must.Be(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
			"lock", i+1, err)
	}
}
