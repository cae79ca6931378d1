package control

import (
	"context"
	"errors"
	"testing"

	"krund/internal/durable/crashfs"
	"krund/rig/must"
)

// fakeAccounts is a machine's user database with room for one account.
type fakeAccounts struct {
	account, group bool
	fail           error
	keptGroup      bool
}

func (f *fakeAccounts) Name() string { return "krun" }

func (f *fakeAccounts) Exists() (account, group bool, err error) { return f.account, f.group, f.fail }

func (f *fakeAccounts) Remove(_ context.Context, keepGroup bool) (bool, error) {
	if f.fail != nil {
		return false, f.fail
	}
	was := f.account
	f.account, f.group, f.keptGroup = false, f.group && keepGroup, keepGroup
	return was, nil
}

// TestAccountIsRemoved: restoring the settings of an execution keeps the account; the final restore
// removes it, with its group unless that existed before.
func TestAccountIsRemoved(t *testing.T) {
	for _, group := range []bool{false, true} {
		accounts := &fakeAccounts{group: group}
		m := &Machine{Boot: "this", Accounts: accounts}
		j := openJournal(t, m)
		for range 2 { // executions
			if err := ExpectAccount(m, j); err != nil || len(j.Pending()) != 1 {
				t.Fatalf("%v, journal %v", err, j.Pending())
			}
			accounts.account, accounts.group = true, true
			report, err := RestoreSettings(t.Context(), m, j)
			must.Be(t, err == nil && len(report) == 0 && accounts.account, report, err, "account",
				accounts.account)
		}
		_, err := Restore(t.Context(), m, j)
		must.Be(t, err == nil && !accounts.account && accounts.group == group && len(j.Pending()) == 0,
			"a group before", group, err, "left", accounts, "journal", j.Pending())
	}
}

// TestAccountOfBefore: an account that existed before krund is never removed.
func TestAccountOfBefore(t *testing.T) {
	accounts := &fakeAccounts{account: true}
	m := &Machine{Boot: "this", Accounts: accounts}
	j := openJournal(t, m)
	if err := ExpectAccount(m, j); err != nil || len(j.Pending()) != 0 {
		t.Fatalf("%v, journal %v", err, j.Pending())
	}
	_, err := Restore(t.Context(), m, j)
	must.Be(t, err == nil && accounts.account, err, "account", accounts.account)
}

// TestAccountAfterACrash: the account is recorded before it is created, and restore removes it,
// also in a later boot, and retries after a failure.
func TestAccountAfterACrash(t *testing.T) {
	for _, made := range []bool{false, true} {
		accounts := &fakeAccounts{}
		m := &Machine{Boot: "first", Accounts: accounts}
		fsys := crashfs.New("/x")
		j := must.Get(OpenJournal(fsys, journalPath, m.Boot, epoch))(t)
		must.Do(t, ExpectAccount(m, j))
		accounts.account, m.Boot = made, "second"
		accounts.fail = errors.New("the user database is locked")
		report, err := restoreLater(t.Context(), m, fsys)
		must.Be(t, err != nil && len(report) == 1 && report[0].Outcome == Failed, report, err,
			"want one that failed")
		accounts.fail = nil
		want := map[bool]Restoration{true: Restored, false: Already}[made]
		report, err = restoreLater(t.Context(), m, fsys)
		must.Be(t, err == nil && len(report) == 1 && report[0].Outcome == want && !accounts.account, "made",
			made, report, err, "left", accounts.account)
		report, err = restoreLater(t.Context(), m, fsys)
		must.Be(t, err == nil && len(report) == 0, "again", report, err)
	}
}

func TestAccountTrouble(t *testing.T) {
	m := &Machine{Boot: "this", Accounts: &fakeAccounts{fail: errors.New("no /etc/passwd")}}
	must.Refuse(t, ExpectAccount(m, openJournal(t, m)), "", "no error without a user database")
	m.Accounts = nil
	must.Do(t, ExpectAccount(m, openJournal(t, m)), "a system without accounts")
	outcome, err := m.restore(t.Context(), Step{Kind: KindAccount, Target: "krun"}, true)
	must.Be(t, outcome == Failed && err != nil, outcome, err)
	m.Accounts = &fakeAccounts{account: true}
	outcome, err = m.restore(t.Context(), Step{Kind: KindAccount, Target: "root"}, true)
	must.Be(t, outcome == Failed && err != nil, "a damaged journal", outcome, err)
}

// TestBefore: the callback is called once, before anything is recorded, and its error prevents the
// change.
func TestBefore(t *testing.T) {
	m := &Machine{Boot: "this"}
	j := openJournal(t, m)
	forbidden := errors.New("no guard")
	calls := 0
	j.Before(func() error {
		if calls++; calls == 1 {
			return forbidden
		}
		return nil
	})
	for i := range 3 {
		_, err := j.begin("aslr", []Step{{Kind: KindFile}})
		must.Be(t, (i == 0) == errors.Is(err, forbidden) && len(j.Pending()) == i, i, err, "pending",
			len(j.Pending()))
	}
	must.Equal(t, calls, 2, "called", "times, want once more after its error")
}
