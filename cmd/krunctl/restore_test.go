package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"krund/internal/control"
	"krund/internal/sysroot"
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

// TestRestoreKeepsTheAccount when it is asked to, and takes it away otherwise; doing it again does nothing.
func TestRestoreKeepsTheAccount(t *testing.T) {
	b := mixed(t)
	db := &accounts{}
	m := &control.Machine{Root: sysroot.New(t.TempDir()), Boot: "this", Accounts: db}
	journal, err := control.OpenJournal(lax(), b.folder.Journal(), m.Boot, func() time.Time { return testTime })
	b.must(err)
	b.must(control.ExpectAccount(m, journal))
	db.there = true
	b.must(journal.Close())
	for _, step := range []struct {
		args string
		want string
	}{{"--keep-account", "nothing"}, {"", "restored  account: krun = absent"}, {"", "nothing to put back"}} {
		var stdout, stderr bytes.Buffer
		a := &app{
			stdin: strings.NewReader(""), stderr: &stderr, host: "bencher7", fsys: lax(), now: func() time.Time { return testTime },
			machine: func(context.Context) *control.Machine { return m },
		}
		if code := runIn(a, append([]string{"restore", b.toml}, strings.Fields(step.args)...), &stdout); code != exitOK || !strings.Contains(stdout.String(), step.want) {
			t.Errorf("restore %s: exit %d: %s%s; want %q", step.args, code, stdout.String(), stderr.String(), step.want)
		}
	}
}
