package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"krund/internal/durable"
	"krund/rig/must"
)

// memory mounts a tmpfs for the duration of the test.
func memory(t *testing.T) string {
	t.Helper()
	must.Root(t, "only root can mount")
	dir := t.TempDir()
	if err := unix.Mount("krund-test", dir, "tmpfs", 0, ""); err != nil {
		t.Skipf("no tmpfs: %v", err)
	}
	t.Cleanup(func() { must.Do(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	must.Do(t, os.Chmod(dir, 0o755))
	return dir
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var stat unix.Stat_t
	must.Do(t, unix.Lstat(path, &stat))
	return stat.Ino
}

// TestLockOfTheSameInode: a user who locks their own file with the same inode number
// on another file system is not mistaken for the lock's holder.
func TestLockOfTheSameInode(t *testing.T) {
	f, err := Create(durable.OS(), filepath.Join(memory(t), "warmup.krun"))
	must.Do(t, err)
	lock := must.Get(f.Lock(os.Getpid(), "bencher7"))(t)
	theirs := ""
	for dir, i := memory(t), 0; i < 1000 && theirs == ""; i++ {
		path := filepath.Join(dir, fmt.Sprint(i))
		must.Do(t, os.WriteFile(path, nil, 0o666))
		if inode(t, path) == inode(t, f.lockFile()) {
			theirs = path
		}
	}
	reachable(t, filepath.Dir(theirs))
	pid, refused := bystander(t, theirs)
	must.Need(t, pid != 0, refused)
	var locked *LockedError
	if _, err = f.Lock(1, "a"); !errors.As(err, &locked) || locked.Stranger != "" ||
		locked.PID != os.Getpid() {
		t.Errorf("got %v, want that this process has it", err)
	}
	must.Do(t, os.Chmod(f.lockFile(), 0o644)) // as created by an earlier version that still holds it
	if _, err = f.Lock(1, "a"); !errors.As(err, &locked) {
		t.Errorf("two have the lock: %v", err)
	}
	must.Do(t, lock.Release())
}

// TestLockOfAFakeKrund: another user's program is not krund, whatever its name and PID.
func TestLockOfAFakeKrund(t *testing.T) {
	must.Root(t, "only root can run a program as another user")
	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("no flock(1)")
	}
	program := must.Get(os.ReadFile(flock))(t)
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	must.Do(t, os.WriteFile(f.lockFile(), nil, 0o644))
	reachable(t, f.dir)
	impostor := filepath.Join(filepath.Dir(f.dir), "krund")
	must.Do(t, os.WriteFile(impostor, program, 0o755))
	cmd := exec.CommandContext(t.Context(), impostor, "--exclusive", "--nonblock", f.lockFile(), "cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	word, err := cmd.StdinPipe() // which ends cat
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _, _, _ = word.Close(), cmd.Process.Kill(), cmd.Wait() })
	for !HoldsLock(durable.OS(), cmd.Process.Pid) {
		must.Need(t, cmd.Process.Signal(syscall.Signal(0)) == nil, "flock has ended")
	}
	// The PID is that of the last holder, which has long ended.
	must.Do(t, f.writeHolder(formatHolder(cmd.Process.Pid, "bencher7")))
	lock := must.Get(f.Lock(os.Getpid(), "bencher7"))(t, "kept away")
	must.Do(t, lock.Release())
}

// TestLockFileLeftByACrash: a process with the same PID was killed while it replaced the lock file.
func TestLockFileLeftByACrash(t *testing.T) {
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	must.Do(t, os.WriteFile(f.lockFile(), nil, 0o644))
	for _, left := range []string{fmt.Sprint(".new", os.Getpid()), ".tmp"} {
		must.Do(t, os.WriteFile(f.lockFile()+left, nil, 0o600))
	}
	lock := must.Get(f.Lock(os.Getpid(), "bencher7"))(t)
	must.Do(t, lock.Release())
}

// modeless is a file system without modes, such as FAT or SMB: all files show the same mode.
type modeless struct{ durable.FS }

type modelessFile struct{ durable.File }

type modelessInfo struct{ fs.FileInfo }

func (m modeless) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	file, err := m.FS.OpenFile(name, flag, perm)
	return modelessFile{file}, err
}

func (f modelessFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return modelessInfo{info}, err
}

func (modelessInfo) Mode() fs.FileMode { return 0o755 }

func (modelessInfo) Sys() any { return nil }

// TestLockWithoutModes: the lock is taken even where new files, too, are accessible to others.
func TestLockWithoutModes(t *testing.T) {
	f := must.Get(Create(modeless{durable.OS()}, filepath.Join(t.TempDir(), "warmup.krun")))(t)
	lock := must.Get(f.Lock(os.Getpid(), "bencher7"))(t)
	_, err := f.Lock(1, "a")
	must.Fail(t, err, durable.ErrLocked, "two have the lock")
	must.Do(t, lock.Release())
}

// full is a full disk: existing files can be opened, but nothing can be written.
type full struct{ durable.FS }

type fullFile struct{ durable.File }

func (d full) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if _, err := d.FS.Lstat(name); err != nil && flag&os.O_CREATE != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.ENOSPC}
	}
	file, err := d.FS.OpenFile(name, flag, perm)
	return fullFile{file}, err
}

func (fullFile) WriteAt([]byte, int64) (int, error) { return 0, unix.ENOSPC }

// TestLockOnAFullDisk: the holder is recorded only for messages. A full disk does not prevent
// restoring the machine.
func TestLockOnAFullDisk(t *testing.T) {
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	must.Do(t, os.WriteFile(f.lockFile(), nil, 0o600)) // and no holder file, as in earlier versions
	f.fsys = full{durable.OS()}
	lock, err := f.Lock(os.Getpid(), "bencher7")
	if err != nil {
		t.Error(err)
	} else {
		must.Do(t, lock.Release())
	}
	run := t.TempDir()
	lock = must.Get(LockMachine(durable.OS(), "/x", run))(t)
	must.Do(t, lock.Release())
	if lock, err = LockMachine(full{durable.OS()}, "/y", run); err != nil {
		t.Error(err)
	} else {
		must.Do(t, lock.Release())
	}
}

// TestMeasuring finds a program of krund's name that was started with run, and no other.
func TestMeasuring(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "krund"), must.Get(os.ReadFile("/bin/sh"))(t), 0o700))
	var pids []int
	for _, word := range []string{"run", "check"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, word), []byte("echo; read line\n"), 0o600))
		c := exec.Command(filepath.Join(dir, "krund"), word)
		c.Dir = dir
		in, out := must.Get(c.StdinPipe())(t), must.Get(c.StdoutPipe())(t)
		must.Do(t, c.Start())
		t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
		must.Get(out.Read(make([]byte, 1)))(t) // it has begun
		pids = append(pids, c.Process.Pid)
	}
	found := Measuring()
	must.Be(t, slices.Contains(found, pids[0]) && !slices.Contains(found, pids[1]), found, pids)
}
