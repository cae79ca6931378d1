package control

import (
	"context"
	"fmt"
	"slices"
)

// Accounts looks after the account that krund makes for benchmarks.
type Accounts interface {
	Name() string
	Exists() (account, group bool, err error)
	// Remove takes the account and all that is its own away; removed is false when there is none.
	Remove(ctx context.Context, keepGroup bool) (removed bool, err error)
}

// accountControl is the name of an account's entry in the journal.
const accountControl = "account"

// accountTarget covers it. Its name is compared by accountApplier.
var accountTarget = target{kind: KindAccount, name: func(string) bool { return true },
	values: func(s Step) bool {
		return s.Old == "absent" && (s.Data == "" || s.Data == groupWasThere)
	}}

// groupWasThere is the Data of an account whose group is older than krund's work.
const groupWasThere = "group"

// ExpectAccount writes down that an account for benchmarks is about to be made, unless there is one
// already or that is on record: what was there before krund came stays. The account is used by many
// executions, so it stays until Restore, whose RestoreSettings leaves it alone.
func ExpectAccount(m *Machine, j *Journal) error {
	if m.Accounts == nil || slices.ContainsFunc(j.Pending(), isAccount) {
		return nil
	}
	account, group, err := m.Accounts.Exists()
	if err != nil {
		return fmt.Errorf("look for account %s: %w", m.Accounts.Name(), err)
	}
	if account {
		return nil
	}
	step := Step{Kind: KindAccount, Target: m.Accounts.Name(), Old: "absent", New: "present"}
	if group {
		step.Data = groupWasThere
	}
	_, err = j.begin(accountControl, []Step{step})
	return err
}

func isAccount(e Entry) bool { return e.Step.Kind == KindAccount }

// accountApplier takes krund's account away. Somebody else makes it.
type accountApplier struct{ accounts Accounts }

func (a accountApplier) do(context.Context, Step) (string, error) { return "", nil }

func (a accountApplier) undo(ctx context.Context, s Step) (Outcome, error) {
	if s.Target != a.accounts.Name() {
		return Failed, fmt.Errorf("not the account that krund makes, which is %s", a.accounts.Name())
	}
	removed, err := a.accounts.Remove(ctx, s.Data == groupWasThere)
	switch {
	case err != nil:
		return Failed, err
	case !removed:
		return Already, nil
	}
	return Restored, nil
}
