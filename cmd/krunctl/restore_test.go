package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"krund/internal/control"
	"krund/internal/experiment/directory"
	"krund/internal/machine/host"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

// accounts is a user database in which krund's account is.
type accounts struct{ there bool }

func (a *accounts) Name() string                { return "krun" }
func (a *accounts) Exists() (bool, bool, error) { return a.there, false, nil }
func (a *accounts) Remove(context.Context, bool) (bool, error) {
	was := a.there
	a.there = false
	return was, nil
}

// withAccount is an experiment whose krund was killed when it had made the account, which is noted
// in the journal and, if run is a directory, in the copy there; and krunctl on this machine.
func withAccount(t *testing.T, run string) (*builder, *accounts, *app) {
	t.Helper()
	b, db := mixed(t), &accounts{}
	m := &control.Machine{Host: host.Host{Root: sysroot.New(t.TempDir())}, Boot: "this", Accounts: db}
	journal, err := control.OpenJournal(lax(), b.directory.Journal(), m.Boot,
		func() time.Time { return testTime })
	b.must(err)
	a := testApp(t)
	a.uid, a.machine = 0, func(context.Context) *control.Machine { return m }
	if run != "" {
		a.runtime = []string{run}
	}
	journal.Spare(directory.Spare(lax(), b.directory.Dir(), a.runtime...))
	b.must(control.ExpectAccount(m, journal))
	b.must(journal.Close())
	db.there = true
	return b, db, a
}

// TestRestoreKeepsTheAccount when it is asked to, and takes it away otherwise; doing it again does
// nothing.
func TestRestoreKeepsTheAccount(t *testing.T) {
	b, _, a := withAccount(t, "")
	for _, step := range []struct {
		args string
		want string
	}{{"--keep-account", "nothing"}, {"", "restored  account: krun = absent"}, {"", "nothing to restore"}} {
		args := append([]string{"repair", "--machine", b.toml}, strings.Fields(step.args)...)
		runApp(a, args...).says(t, exitOK, step.want, "", step.args)
	}
}

// TestRestoreLeavesAMachineThatIsTaken: a restore could revert the settings of another experiment.
func TestRestoreLeavesAMachineThatIsTaken(t *testing.T) {
	run := t.TempDir()
	b, db, a := withAccount(t, run)
	other, err := directory.LockMachine(lax(), "/other.krun", run)
	b.must(err)
	runApp(a, "repair", "--machine", b.toml).says(t, exitError, "",
		"another krund is running on this machine")
	must.Be(t, db.there, "the account is gone")
	b.must(other.Release())
	runApp(a, "repair", "--machine", b.toml).says(t, exitOK, "", "")
	must.Be(t, !db.there, "the account is still there")
}

// TestRestoreFromTheCopy: what is missing from the journal is in its copy.
func TestRestoreFromTheCopy(t *testing.T) {
	run := t.TempDir()
	b, db, a := withAccount(t, run)
	b.must(os.Remove(b.directory.Journal()))
	runApp(a, "repair", "--machine", b.toml).says(t, exitError, "restored  account: krun = absent", "")
	must.Be(t, !db.there, "the account is still there")
	runApp(a, "repair", "--machine", b.toml).says(t, exitOK, "nothing to restore", "")
	must.Refused(os.Lstat(directory.Spare(lax(), b.directory.Dir(), run)))(t, "", "the copy is still there")
}

// TestRestoreWaitsForTheGuard: a guard that is restoring the machine is no reason to refuse.
func TestRestoreWaitsForTheGuard(t *testing.T) {
	b := mixed(t)
	guards := exec.CommandContext(t.Context(), "cat")
	guards.Args[0] = "krund-guard" // its name is all that is asked for
	stdin, err := guards.StdinPipe()
	b.must(err)
	stdout, err := guards.StdoutPipe()
	b.must(err)
	b.must(guards.Start())
	// it answers when it runs; until then the kernel may not know its arguments
	_, err = stdin.Write([]byte{'.'})
	b.must(err)
	_, err = io.ReadFull(stdout, make([]byte, 1))
	b.must(err)
	if !directory.IsGuard(guards.Process.Pid) {
		t.Skip("this system does not report the names of processes")
	}
	lock, err := b.directory.Lock(guards.Process.Pid, "bencher7")
	b.must(err)
	restored := make(chan ran, 1)
	go func() { restored <- krunctl(t, "repair", "--machine", b.toml) }()
	select {
	case r := <-restored:
		t.Fatalf("did not wait: %s", r.text())
	default:
	}
	b.must(lock.Release())
	r := <-restored
	must.Be(t, r.code == exitOK && r.stdout == "nothing to restore\n", r.text())
	b.must(stdin.Close())
	b.must(guards.Wait())
}
