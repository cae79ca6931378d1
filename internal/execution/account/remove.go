package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"krund/internal/durable"
	"krund/internal/machine/command"
)

// Time limits for the removal of what an account has left: ten million files on a slow disk. Files
// of other users in /tmp take time to look at; they must leave half of the time for the home.
const (
	clearTime   = 10 * time.Minute
	scratchTime = clearTime / 2
)

// within returns a context with a deadline, whose cause says what to do after it.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	why := fmt.Errorf("not done after %v; start krund again to continue", limit)
	return context.WithTimeoutCause(ctx, limit, why)
}

// clear ends and removes everything that belongs to krund's previous account, except its lines in
// the user database.
func (m maker) clear(ctx context.Context, old user) ([]string, error) {
	ctx, cancel := within(ctx, clearTime)
	defer cancel()
	if err := m.kill(ctx, Account{Name: old.name, UID: old.uid, GID: old.gid, Own: true}); err != nil {
		return nil, err
	}
	_, findings := m.clearScratch(ctx, old.uid)
	removed, err := m.objects(old.uid)
	if removed > 0 {
		findings = append(findings, fmt.Sprintf("removed %d System V objects "+
			"(shared memory, semaphores, message queues) of the last benchmark", removed))
	}
	if err != nil {
		findings = append(findings, fmt.Sprintf("System V objects of the last benchmark are left: %v", err))
	}
	return findings, m.removeHome(ctx, old)
}

// Empty frees disk space when the disk is full: it ends the processes of the account that Fresh has
// made and removes its files, but not the account or its home. It returns the number of files
// removed.
func Empty(ctx context.Context) (removed int, err error) {
	if os.Geteuid() != 0 {
		return 0, nil
	}
	return newMaker("/").empty(ctx)
}

func (m maker) empty(ctx context.Context) (removed int, err error) {
	users, _, err := m.read()
	if err != nil {
		return 0, err
	}
	own, _, err := planRemove(users)
	if err != nil || own == nil {
		return 0, err
	}
	ctx, cancel := within(ctx, clearTime)
	defer cancel()
	if err := m.kill(ctx, Account{Name: own.name, UID: own.uid, GID: own.gid, Own: true}); err != nil {
		return 0, err
	}
	elsewhere, _ := m.clearScratch(ctx, own.uid)
	removed, err = removeOwned(ctx, m.path(accountHome), own.uid)
	return removed + elsewhere, err
}

// clearScratch removes the user's files from world-writable directories and counts them.
func (m maker) clearScratch(ctx context.Context, uid int) (total int, findings []string) {
	ctx, cancel := within(ctx, scratchTime)
	defer cancel()
	for _, dir := range m.scratch {
		removed, err := removeOwned(ctx, m.path(dir), uid)
		if total += removed; removed > 0 {
			findings = append(findings,
				fmt.Sprintf("removed %d files that the last benchmark left in %s", removed, dir))
		}
		if err != nil {
			findings = append(findings,
				fmt.Sprintf("files of the last benchmark may be left in %s: %v", dir, err))
		}
	}
	// With this file, which belongs to root, systemd starts processes of the user at boot.
	if err := os.Remove(m.path(lingerFile)); err == nil {
		findings = append(findings, "removed "+lingerFile)
	}
	return total, findings
}

const lingerFile = "/var/lib/systemd/linger/" + accountName

// removeHome removes the home, on the disk or in memory, and makes that durable before the account
// is removed.
func (m maker) removeHome(ctx context.Context, old user) error {
	home := m.path(accountHome)
	if err := unmountHome(home); err != nil {
		return err
	}
	info, err := os.Lstat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// The home belongs to root if the power failed between its creation and the change of its
	// owner.
	owner, ok := ownerOf(info)
	if !info.IsDir() || !ok || (owner != old.uid && owner != 0) {
		return fmt.Errorf("%s: %w: it is no directory or belongs to another user; move it away",
			accountHome, ErrForeign)
	}
	if _, err := removeTree(ctx, home); err != nil {
		return fmt.Errorf("remove the home: %w", err)
	}
	return durable.OS().SyncDir(filepath.Dir(home))
}

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

const (
	// killTime bounds the killing. Only processes that the kernel itself holds (state D: a dead
	// disk, a dead network file system) outlast it.
	killTime = 10 * time.Second
	killPoll = time.Millisecond // between two looks for what is left

	// killName and killFlag are the arguments of the copy of the program that ends a user's
	// processes. The second one looks like a flag: a program that did not call Stage, such as a
	// test binary, refuses it and exits instead of starting itself without end.
	killName   = "krund-kill"
	killFlag   = "-krund-kill-v1="
	killFailed = 127
)

// userID is a user with its main group.
type userID struct{ uid, gid int }

// Stage must be called first in main. It returns at once unless this process was started by
// KillProcesses; then it ends all processes of a user and never returns.
func Stage() {
	if id, ok := killArgs(os.Args); ok {
		os.Exit(killAll(id))
	}
}

// KillProcesses ends every process of the account at once: a copy of krund becomes that user and
// sends SIGKILL to everything it may signal. The kernel does that in one step, which no fork can
// evade. It is only for accounts that are krund's own.
func (a Account) KillProcesses(ctx context.Context) error { return killUser(ctx, a) }

func killUser(ctx context.Context, a Account) error {
	if !a.Own || a.UID <= 0 {
		return fmt.Errorf("end the processes of %s: not an account that krund made", a)
	}
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	program, err := command.Self()
	if err == nil {
		argv := []string{killName, fmt.Sprintf("%s%d:%d", killFlag, a.UID, a.GID)}
		_, err = command.Run(ctx, command.Cmd{Path: program, Argv: argv, Env: []string{"GOMAXPROCS=1"},
			Dir: "/", Timeout: killTime})
	}
	poll := time.NewTicker(killPoll)
	defer poll.Stop()
	for err == nil {
		left := userProcesses(a.UID)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			err = fmt.Errorf("%v are still there", left)
		}
	}
	return fmt.Errorf("end the processes of %s: %w", a, err)
}

// killArgs recognizes the command line of the copy that KillProcesses starts.
func killArgs(args []string) (userID, bool) {
	if len(args) != 2 || args[0] != killName {
		return userID{}, false
	}
	text, found := strings.CutPrefix(args[1], killFlag)
	uid, gid, both := strings.Cut(text, ":")
	if !found || !both {
		return userID{}, false
	}
	u, errU := strconv.Atoi(uid)
	g, errG := strconv.Atoi(gid)
	return userID{u, g}, errU == nil && errG == nil && u > 0 && g >= 0
}

// killAll is what that copy does; it returns the exit status.
func killAll(id userID) int {
	err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(id.gid), syscall.Setuid(id.uid))
	if err != nil {
		return killFailed
	}
	// This signals neither the sender itself nor any other user's process.
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return killFailed
	}
	return 0
}
