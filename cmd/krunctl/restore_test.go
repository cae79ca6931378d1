package main

import (
	"bytes"
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

// TestRestoreKeepsTheAccount when it is asked to, and takes it away otherwise; doing it again does
// nothing.
func TestRestoreKeepsTheAccount(t *testing.T) {
	b := mixed(t)
	db := &accounts{}
	m := &control.Machine{Host: host.Host{Root: sysroot.New(t.TempDir())}, Boot: "this", Accounts: db}
	journal, err := control.OpenJournal(lax(), b.directory.Journal(), m.Boot,
		func() time.Time { return testTime })
	b.must(err)
	b.must(control.ExpectAccount(m, journal))
	db.there = true
	b.must(journal.Close())
	for _, step := range []struct {
		args string
		want string
	}{{"--keep-account", "nothing"}, {"", "restored  account: krun = absent"}, {"", "nothing to restore"}} {
		var stdout, stderr bytes.Buffer
		a := &app{
			stdin: strings.NewReader(""), stderr: &stderr, host: "bencher7", fsys: lax(),
			now:     func() time.Time { return testTime },
			machine: func(context.Context) *control.Machine { return m },
		}
		if code := runIn(a, append([]string{"repair", "--machine", b.toml}, strings.Fields(step.args)...),
			&stdout); code != exitOK || !strings.Contains(stdout.String(), step.want) {
			t.Errorf("restore %s: exit %d: %s%s; want %q", step.args, code, stdout.String(), stderr.String(),
				step.want)
		}
	}
}

// TestRestoreLeavesAMachineThatIsTaken: a restore could revert the settings of another experiment.
func TestRestoreLeavesAMachineThatIsTaken(t *testing.T) {
	b := mixed(t)
	db := &accounts{}
	m := &control.Machine{Host: host.Host{Root: sysroot.New(t.TempDir())}, Boot: "this", Accounts: db}
	journal, err := control.OpenJournal(lax(), b.directory.Journal(), m.Boot,
		func() time.Time { return testTime })
	b.must(err)
	b.must(control.ExpectAccount(m, journal))
	b.must(journal.Close())
	db.there = true
	run := t.TempDir()
	restore := func() (int, string) {
		var stdout, stderr bytes.Buffer
		a := &app{
			stdin: strings.NewReader(""), stderr: &stderr, host: "bencher7", fsys: lax(),
			now: func() time.Time { return testTime }, runtime: []string{run},
			machine: func(context.Context) *control.Machine { return m },
		}
		code := runIn(a, []string{"repair", "--machine", b.toml}, &stdout)
		return code, stdout.String() + stderr.String()
	}
	other, err := directory.LockMachine(lax(), "/other.krun", run)
	b.must(err)
	if code, text := restore(); code != exitError || !strings.Contains(text,
		"another krund is running on this machine") || !db.there {
		t.Errorf("exit %d, account %t: %s", code, db.there, text)
	}
	b.must(other.Release())
	if code, text := restore(); code != exitOK || db.there {
		t.Errorf("exit %d, account %t: %s", code, db.there, text)
	}
}

// TestRestoreFromTheCopy: what is missing from the journal is in its copy.
func TestRestoreFromTheCopy(t *testing.T) {
	b := mixed(t)
	db := &accounts{}
	m := &control.Machine{Host: host.Host{Root: sysroot.New(t.TempDir())}, Boot: "this", Accounts: db}
	run := t.TempDir()
	spare := directory.Spare(lax(), b.directory.Dir(), run)
	journal, err := control.OpenJournal(lax(), b.directory.Journal(), m.Boot,
		func() time.Time { return testTime })
	b.must(err)
	journal.Spare(spare)
	b.must(control.ExpectAccount(m, journal))
	b.must(journal.Close())
	db.there = true
	b.must(os.Remove(b.directory.Journal()))
	for _, step := range []struct {
		code int
		want string
	}{{exitError, "restored  account: krun = absent"}, {exitOK, "nothing to restore"}} {
		var stdout, stderr bytes.Buffer
		a := &app{
			stdin: strings.NewReader(""), stderr: &stderr, host: "bencher7", fsys: lax(),
			now:     func() time.Time { return testTime },
			runtime: []string{run}, machine: func(context.Context) *control.Machine { return m },
		}
		if code := runIn(a, []string{"repair", "--machine", b.toml}, &stdout); code != step.code ||
			!strings.Contains(stdout.String(), step.want) || db.there {
			t.Errorf("exit %d, account %t: %s%s; want %q", code, db.there, stdout.String(), stderr.String(),
				step.want)
		}
	}
	must.Refused(os.Lstat(spare))(t, "", "the copy is still there")
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
	if r := <-restored; r.code != exitOK || r.stdout != "nothing to restore\n" {
		t.Error(r.text())
	}
	b.must(stdin.Close())
	b.must(guards.Wait())
}
