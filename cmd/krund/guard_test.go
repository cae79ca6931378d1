package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

var (
	freshAccount  = &config.Config{Experiment: config.Experiment{Account: config.AccountFresh}}
	callerAccount = &config.Config{Experiment: config.Experiment{Account: config.AccountCaller}}
)

func TestOneKrundTakesTheMachineOver(t *testing.T) {
	dir := t.TempDir()
	take := func(cfg *config.Config, reboot string, root bool, dirs ...string) (*directory.Lock, error) {
		return lockMachine(t.Context(), cfg, "/x.krun", reboot, root, io.Discard, dirs...)
	}
	first, err := take(freshAccount, config.RebootNone, true, "/nowhere", dir)
	must.Do(t, err)
	_, err = take(callerAccount, config.RebootHardware, true, dir)
	must.Refuse(t, err, "another krund", "second krund with reboots", "want that another one works here")
	lock, err := take(callerAccount, config.RebootNone, true, dir)
	must.Be(t, lock == nil && err == nil, "without reboots, as the caller", lock, err, "want no lock")
	lock, err = take(freshAccount, config.RebootNone, false, dir)
	must.Be(t, lock == nil && err == nil, "not root", lock, err, "want no lock")
	must.Do(t, first.Release())
	again := must.Get(take(freshAccount, config.RebootNone, true, dir))(t, "after the first has ended")
	_ = again.Release()
}

// TestLockOfAGuard: while the guard of a killed krund holds the machine's lock, another krund
// waits, prints that once, and takes the lock when the guard has ended.
func TestLockOfAGuard(t *testing.T) {
	must.Root(t, "only root takes the machine over")
	dir := t.TempDir()
	held, err := directory.LockMachine(durable.OS(), "/x.krun", dir)
	must.Do(t, err)
	guard := exec.CommandContext(t.Context(), buildSleeper(t))
	guard.Args = []string{"krund-guard", "-"} // cat, under the name of a guard
	guard.ExtraFiles = []*os.File{held.File()}
	stdin := must.Get(guard.StdinPipe())(t)
	must.Do(t, errors.Join(guard.Start(), held.Release()))
	markDead(t, dir)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var told strings.Builder
	_, err = lockMachine(gone, freshAccount, "/y.krun", config.RebootNone, true, &told, dir)
	_, ok := errors.AsType[*directory.GuardError](err)
	must.Be(t, ok && strings.Contains(told.String(), "/x.krun"), "while the guard runs", err, "printed",
		told.String())
	ended := make(chan error, 1)
	told.Reset()
	go func() {
		lock, err := lockMachine(t.Context(), freshAccount, "/y.krun", config.RebootNone, true, &told, dir)
		if err == nil {
			err = lock.Release()
		}
		ended <- err
	}()
	must.Do(t, errors.Join(stdin.Close(), guard.Wait()))
	must.Do(t, <-ended, "after the guard has ended")
}

// buildSleeper returns a program with the name of krund that ends with its standard input.
func buildSleeper(t *testing.T) string {
	t.Helper()
	cat, err := os.ReadFile("/bin/cat")
	if err != nil {
		t.Skip(err)
	}
	path := t.TempDir() + "/krund"
	must.Do(t, os.WriteFile(path, cat, 0o755))
	return path
}

// markDead notes a process that has ended as the one that took the lock.
func markDead(t *testing.T, dir string) {
	t.Helper()
	dead := exec.CommandContext(t.Context(), "true")
	must.Do(t, dead.Run())
	if err := syscall.Kill(dead.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Skip("the number of the process is in use again")
	}
	path := dir + "/krund/lock"
	text := must.Get(os.ReadFile(path))(t)
	_, rest, _ := strings.Cut(string(text), " ")
	text = []byte(strings.TrimSpace(strconv.Itoa(dead.Process.Pid)+" "+rest) + "\n")
	must.Do(t, os.WriteFile(path, text, 0o600))
}
