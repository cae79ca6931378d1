package directory

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/rig/must"
)

// bystander runs flock(1) on a file, as another user if the test runs as root. It returns its PID
// once it holds the lock, or else the reason why it cannot get it.
func bystander(t *testing.T, file string) (pid int, refused string) {
	t.Helper()
	path, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("no flock(1)")
	}
	cmd := exec.CommandContext(t.Context(), path, "--exclusive", "--nonblock", file, "sh", "-c",
		"echo held; exec cat")
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out := must.Get(cmd.StdoutPipe())(t)
	word, err := cmd.StdinPipe() // which ends cat
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _, _ = word.Close(), cmd.Process.Kill() })
	said := make([]byte, len("held\n"))
	if n, _ := out.Read(said); n == 0 {
		_ = cmd.Wait() // it failed, and stderr explains why
		return 0, stderr.String()
	}
	return cmd.Process.Pid, ""
}

// reachable makes dir and its parents accessible to all users.
func reachable(t *testing.T, dir string) {
	t.Helper()
	for d := dir; d != filepath.Dir(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err == nil && info.Mode().Perm()&0o005 != 0o005 {
			must.Do(t, os.Chmod(d, 0o755))
		}
	}
}

// TestLockOfABystander: a user who can read the experiment cannot take its lock, even if an earlier
// version created the lock file.
func TestLockOfABystander(t *testing.T) {
	must.Root(t, "only root can run a program as another user")
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	reachable(t, f.dir)
	lock := must.Get(f.Lock(os.Getpid(), "bencher7"))(t)
	must.Do(t, lock.Release())
	_, refused := bystander(t, f.lockFile())
	must.Contain(t, refused, "ermission denied", "another user gets the lock")
	must.Do(t, os.Chmod(f.lockFile(), 0o644))
	pid, refused := bystander(t, f.lockFile())
	must.Need(t, pid != 0, "the lock is free, but was refused", refused)
	lock = must.Get(f.Lock(os.Getpid(), "bencher7"))(t)
	if info, err := os.Stat(f.lockFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("afterwards the lock's file has mode %v, %v", info.Mode(), err)
	}
	_, err := f.Lock(1, "a")
	must.Fail(t, err, durable.ErrLocked, "a second krund")
	must.Do(t, lock.Release())
}

// TestLockOfAStranger: the message names root's own flock(1) with its PID.
func TestLockOfAStranger(t *testing.T) {
	f, err := Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun"))
	must.Do(t, err)
	must.Do(t, os.WriteFile(f.lockFile(), nil, 0o600))
	if os.Geteuid() == 0 {
		must.Do(t, os.Chown(f.lockFile(), 65534, 65534))
		reachable(t, f.dir)
	}
	pid, refused := bystander(t, f.lockFile())
	must.Need(t, pid != 0, refused)
	var locked *LockedError
	_, err = f.Lock(os.Getpid(), "bencher7")
	must.Be(t, errors.As(err, &locked) && strings.Contains(err.Error(), fmt.Sprintf("process %d", pid)) &&
		strings.Contains(err.Error(), "is not krund"), err, "want process", pid, "named")
}

// TestLockOfADeadHolder: a process that inherited the descriptor is not mistaken for the krund that
// took the lock.
func TestLockOfADeadHolder(t *testing.T) {
	path, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("no flock(1)")
	}
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	must.Do(t, os.WriteFile(f.lockFile(), nil, 0o600))
	// flock(1) locks descriptor 9 of the shell and ends; the shell keeps it.
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		`exec 9<"$0"; "$1" -x -n 9; echo held; exec sleep 1000`, f.lockFile(), path)
	out := must.Get(cmd.StdoutPipe())(t)
	word, err := cmd.StdinPipe() // which ends cat
	must.Do(t, err)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _, _ = word.Close(), cmd.Process.Kill() })
	must.Get(out.Read(make([]byte, 5)))(t)
	must.Refused(f.Lock(os.Getpid(), "bencher7"))(t, "which has ended", "want that the holder has ended")
}

// TestLockReplacedWhileWaiting: if the lock file is replaced while a process waits for it, the
// process locks the new one.
func TestLockReplacedWhileWaiting(t *testing.T) {
	f := must.Get(Create(durable.OS(), filepath.Join(t.TempDir(), "warmup.krun")))(t)
	replaced := false
	lock := must.Get(f.lock(1, "a", func(file durable.File) error {
		if !replaced {
			replaced = true
			must.Do(t, replaceLock(durable.OS(), f.lockFile()))
		}
		return file.TryLock()
	}))(t)
	_, err := f.Lock(2, "b")
	must.Fail(t, err, durable.ErrLocked, "two have the lock")
	must.Do(t, lock.Release())
	if entries, err := os.ReadDir(f.dir); err != nil || len(entries) != 3 { // results, lock, holder
		t.Errorf("left: %v, %v", entries, err)
	}
}
