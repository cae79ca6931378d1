package child

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// OwnAccount is the account that FreshAccount makes, for whoever takes it away again when it is needed no more.
type OwnAccount struct{}

// Name is its name.
func (OwnAccount) Name() string { return accountName }

// Exists tells whether the machine has an account, and whether it has a group, of that name, krund's own or not.
func (OwnAccount) Exists() (account, group bool, err error) { return newAccountMaker("/").exists() }

// Remove is RemoveAccount for a program that cannot become the account's user, and for restoring a machine: unless keepGroup, the account's group
// goes also where userdel leaves it. removed is false when there was nothing. One that is not krund's own is never touched.
func (OwnAccount) Remove(ctx context.Context, keepGroup bool) (removed bool, err error) {
	m := newAccountMaker("/")
	m.kill = killListed
	return m.takeAway(ctx, keepGroup)
}

func (m accountMaker) exists() (account, group bool, err error) {
	users, groups, err := m.read()
	account = slices.ContainsFunc(users, func(u user) bool { return u.name == accountName })
	return account, hasGroup(groups), err
}

func hasGroup(groups []groupEntry) bool {
	return slices.ContainsFunc(groups, func(g groupEntry) bool { return g.name == accountName })
}

func (m accountMaker) takeAway(ctx context.Context, keepGroup bool) (bool, error) {
	account, group, err := m.exists()
	if err != nil || !account && !group {
		return false, err
	}
	if os.Geteuid() != 0 {
		return false, fmt.Errorf("remove account %s: %w: run as root", accountName, fs.ErrPermission)
	}
	if _, err := m.remove(ctx); err != nil { // what is left of its files keeps nobody from anything
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
	return true, syncDirectory(m.path("/etc"))
}

// removeGroup removes the group where userdel does not: USERGROUPS_ENAB of login.defs(5), and OpenBSD.
func (m accountMaker) removeGroup(ctx context.Context, keep bool) (bool, error) {
	users, groups, err := m.read()
	if err != nil || keep || !hasGroup(groups) {
		return false, err
	}
	if _, err := planGroup(users, groups); err != nil {
		return false, nil //nolint:nilerr // somebody else's
	}
	return true, m.call(ctx, []string{"groupdel", accountName})
}

// killListed ends the processes of an account one by one, again while new ones come. Against an account that forks as fast as it can it may
// lose, and says so; killUser does not.
func killListed(ctx context.Context, a Account) error {
	if !a.Own || a.UID <= 0 {
		return fmt.Errorf("end the processes of %s: not an account that krund made", a)
	}
	for limit := now() + int64(killTime); ; {
		left := userProcesses(a.UID)
		if len(left) == 0 {
			return nil
		}
		if now() >= limit || ctx.Err() != nil {
			return fmt.Errorf("end the processes of %s: %v are still there", a, left)
		}
		for _, pid := range left {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end process %d of %s: %w", pid, a, err)
			}
		}
		readable(-1, now()+int64(time.Millisecond))
	}
}
