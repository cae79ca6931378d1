package control

import (
	"context"
	"fmt"
	"slices"
)

// Accounts manages the account that krund creates for benchmarks.
type Accounts interface {
	Name() string
	Exists() (account, group bool, err error)
	// Remove deletes the account and what belongs to it; removed is false if there is no account.
	Remove(ctx context.Context, keepGroup bool) (removed bool, err error)
}

// accountControl is the name of an account's entry in the journal.
const accountControl = "account"

// accountTarget covers that entry. accountApplier checks the account's name.
var accountTarget = target{kind: KindAccount, name: func(string) bool { return true },
	values: func(s Step) bool {
		return s.Old == "absent" && (s.Data == "" || s.Data == groupExisted)
	}}

// groupExisted is the Data of an account whose group existed before krund created the account.
const groupExisted = "group"

// ExpectAccount records that krund is about to create the account for benchmarks. It does nothing
// if the account exists or is recorded already: krund never removes an account that it did not
// create. Many executions use the account, so RestoreSettings leaves it alone and only Restore
// removes it.
func ExpectAccount(m *Machine, j *Journal) error {
	if m.Accounts == nil || slices.ContainsFunc(j.Pending(), isAccount) {
		return nil
	}
	account, group, err := m.Accounts.Exists()
	if err != nil {
		return fmt.Errorf("look up account %s: %w", m.Accounts.Name(), err)
	}
	if account {
		return nil
	}
	step := Step{Kind: KindAccount, Target: m.Accounts.Name(), Old: "absent", New: "present"}
	if group {
		step.Data = groupExisted
	}
	_, err = j.begin(accountControl, []Step{step})
	return err
}

func isAccount(e Entry) bool { return e.Step.Kind == KindAccount }

// accountApplier removes krund's account. The caller of ExpectAccount creates it.
type accountApplier struct{ accounts Accounts }

func (a accountApplier) do(context.Context, Step) (string, error) { return "", nil }

func (a accountApplier) restore(ctx context.Context, s Step) (Restoration, error) {
	if s.Target != a.accounts.Name() {
		return Failed, fmt.Errorf("not the account that krund creates, which is %s", a.accounts.Name())
	}
	removed, err := a.accounts.Remove(ctx, s.Data == groupExisted)
	switch {
	case err != nil:
		return Failed, err
	case !removed:
		return Already, nil
	}
	return Restored, nil
}
