package account

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"krund/internal/durable"
)

// Own is the account that Fresh makes, as internal/control removes it when it restores a machine.
type Own struct{}

// Name returns its name.
func (Own) Name() string { return accountName }

// Exists reports whether the machine has an account and a group of that name, krund's own or not.
func (Own) Exists() (account, group bool, err error) { return newMaker("/").exists() }

// Remove is like the function Remove. Unless keepGroup is set, it also removes the account's group
// if userdel leaves it. removed is false when there was nothing. What is not krund's own is never
// touched.
func (Own) Remove(ctx context.Context, keepGroup bool) (removed bool, err error) {
	return newMaker("/").removeWithGroup(ctx, keepGroup)
}

func (m maker) exists() (account, group bool, err error) {
	users, groups, err := m.read()
	account = slices.ContainsFunc(users, func(u user) bool { return u.name == accountName })
	return account, hasGroup(groups), err
}

func hasGroup(groups []groupEntry) bool {
	return slices.ContainsFunc(groups, func(g groupEntry) bool { return g.name == accountName })
}

func (m maker) removeWithGroup(ctx context.Context, keepGroup bool) (bool, error) {
	account, group, err := m.exists()
	if err != nil || !account && !group {
		return false, err
	}
	if os.Geteuid() != 0 {
		return false, fmt.Errorf("remove account %s: %w: run as root", accountName, fs.ErrPermission)
	}
	if _, err := m.remove(ctx); err != nil { // its findings on left-over files are not needed
		return false, err
	}
	gone, err := m.removeGroup(ctx, keepGroup)
	if err != nil {
		return false, err
	}
	left, _, err := m.exists()
	if removed := gone || account && !left; err != nil || !removed {
		return removed, err
	}
	return true, durable.OS().SyncDir(m.path("/etc"))
}

// removeGroup removes the group if userdel leaves it: USERGROUPS_ENAB of login.defs(5), and
// OpenBSD.
func (m maker) removeGroup(ctx context.Context, keep bool) (bool, error) {
	users, groups, err := m.read()
	if err != nil || keep || !hasGroup(groups) {
		return false, err
	}
	if _, err := planGroup(users, groups); err != nil {
		return false, nil //nolint:nilerr // not krund's own: it stays
	}
	return true, m.call(ctx, []string{"groupdel", accountName})
}
