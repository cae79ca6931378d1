// Package account makes the account that benchmarks run as, and removes what they leave behind on
// the machine: processes, files, System V objects, the home, the account itself.
//
// Fresh makes the account anew before an execution, Empty frees its disk space, Remove deletes it
// at the end of an experiment; Own is the account as internal/control restores a machine. Parsers
// and plans (plan.go) are pure. Everything that a benchmark may have left is hostile input:
// sweep.go removes trees of any shape.
//
// The package never touches an account, home, group or mount that is not krund's own, and never
// starts a benchmark: that is internal/execution/child. Programs whose accounts are made with Fresh
// call Stage first in main. Start reading at maker.fresh.
package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"krund/internal/durable"
	"krund/internal/machine/command"
)

// Account is the account that a benchmark runs as. The zero Account is krund's own.
type Account struct {
	Name string
	UID  int
	GID  int
	Home string // absolute; empty when the account has none
	Own  bool   // made by Fresh: every process of this user is the benchmark's and may be killed
}

// IsCaller reports whether a is krund's own account.
func (a Account) IsCaller() bool { return a.UID == 0 && a.GID == 0 }

// String names the account in messages.
func (a Account) String() string {
	if a.IsCaller() {
		return "the caller"
	}
	return fmt.Sprintf("%s (uid %d)", a.Name, a.UID)
}

// toolTime bounds useradd and userdel, which wait for a lock on the user database for up to 15 s.
const toolTime = 30 * time.Second

// Fresh makes the account "krun" anew. It kills the processes of the old one, removes its files
// from world-writable directories, its System V objects, its home and the account itself, and
// creates the account again with the same user number and an empty home. The findings are remarks
// for the record.
//
// home is the size limit of the home in bytes; the home is then a file system in memory. 0 makes it
// a directory on the disk.
//
// Without root Fresh does nothing: it returns the zero Account, which is the caller, and a finding.
// An account, home or group of that name that is not krund's own is never touched: ErrForeign.
func Fresh(ctx context.Context, home int64) (Account, []string, error) {
	if os.Geteuid() != 0 {
		finding := fmt.Sprintf("no fresh account: krund is not root, so the benchmark runs as user %d",
			os.Geteuid())
		return Account{}, []string{finding}, nil
	}
	m := newMaker("/")
	m.home = home
	a, findings, err := m.fresh(ctx)
	if err != nil {
		return Account{}, findings, fmt.Errorf("make a fresh account %s: %w", accountName, err)
	}
	return a, findings, nil
}

// Remove removes what Fresh has made and what the account has left behind: its processes, its files
// in world-writable directories, its home. It is for the end of an experiment. The findings are
// remarks, as of Fresh. Without root, without such an account, and when the account of that name is
// not krund's own, it does nothing.
func Remove(ctx context.Context) ([]string, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	findings, err := newMaker("/").remove(ctx)
	if err != nil {
		return findings, fmt.Errorf("remove the account %s: %w", accountName, err)
	}
	return findings, nil
}

// maker makes and removes the account in the tree below root.
type maker struct {
	root    string
	goos    string
	scratch []string // where a user can leave files
	call    func(ctx context.Context, argv []string) error
	kill    func(context.Context, Account) error
	objects func(uid int) (removed int, err error)
	home    int64 // size limit in bytes; 0: on the disk
}

func newMaker(root string) maker {
	return maker{
		root: root, goos: runtime.GOOS, call: callTool, kill: killUser, objects: removeObjects,
		scratch: []string{
			"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/run/screen", "/var/crash",
			"/var/mail", "/var/spool/mail", "/var/spool/cron", "/var/spool/at",
		},
	}
}

func (m maker) path(name string) string { return filepath.Join(m.root, name) }

// fresh orders its steps so that the next boot can continue after a power failure at any point: the
// home is removed before the account that proves its ownership, and created after it.
func (m maker) fresh(ctx context.Context) (Account, []string, error) {
	if err := m.removeStaleLocks(); err != nil {
		return Account{}, nil, err
	}
	uid, findings, err := m.removeOld(ctx)
	if err != nil {
		return Account{}, findings, err
	}
	if _, err := os.Lstat(m.path(accountHome)); !errors.Is(err, fs.ErrNotExist) {
		return Account{}, findings, fmt.Errorf("%s: %w: it is there without an account %s; move it away (%v)",
			accountHome, ErrForeign, accountName, err) //nolint:errorlint // nil when the home is there
	}
	a, err := m.add(ctx, uid)
	return a, findings, err
}

// remove removes the account for good.
func (m maker) remove(ctx context.Context) ([]string, error) {
	if err := m.removeStaleLocks(); err != nil {
		return nil, err
	}
	_, findings, err := m.removeOld(ctx)
	if errors.Is(err, ErrForeign) {
		return findings, nil // another user's account, or a home of unknown owner
	}
	return findings, err
}

// removeOld removes krund's previous account and returns its user number; 0 when there was none.
func (m maker) removeOld(ctx context.Context) (uid int, findings []string, err error) {
	users, _, err := m.read()
	if err != nil {
		return 0, nil, err
	}
	old, remove, err := planRemove(users)
	if err != nil || old == nil {
		return 0, nil, err
	}
	if findings, err = m.clear(ctx, *old); err != nil {
		return old.uid, findings, err
	}
	return old.uid, findings, m.call(ctx, remove)
}

// add creates account and home.
func (m maker) add(ctx context.Context, uid int) (Account, error) {
	users, groups, err := m.read()
	if err != nil {
		return Account{}, err
	}
	useradd, err := planAdd(m.goos, users, groups, uid)
	if err != nil {
		return Account{}, err
	}
	if err := m.call(ctx, useradd); err != nil {
		return Account{}, err
	}
	if users, _, err = m.read(); err != nil {
		return Account{}, err
	}
	u, _, err := planRemove(users)
	if err != nil {
		return Account{}, err
	}
	if u == nil {
		return Account{}, fmt.Errorf("%s succeeded, but there is no account %s", useradd[0], accountName)
	}
	if err := durable.OS().SyncDir(m.path("/etc")); err != nil {
		return Account{}, err
	}
	home := m.path(accountHome)
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return Account{}, err
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		return Account{}, err
	}
	if err := os.Chown(home, u.uid, u.gid); err != nil {
		return Account{}, err
	}
	if m.home > 0 {
		if err := mountHome(home, m.home, u.uid, u.gid); err != nil {
			return Account{}, err
		}
	}
	return Account{Name: u.name, UID: u.uid, GID: u.gid, Home: accountHome, Own: true}, nil
}

// read reads the user database.
func (m maker) read() ([]user, []groupEntry, error) {
	passwd, err := os.ReadFile(m.path("/etc/passwd"))
	if err != nil {
		return nil, nil, err
	}
	group, err := os.ReadFile(m.path("/etc/group"))
	if err != nil {
		return nil, nil, err
	}
	return parsePasswd(passwd), parseGroups(group), nil
}

// toolDirs are where the tools of the user database are. The PATH of krund may lack sbin.
var toolDirs = []string{"/usr/sbin", "/sbin", "/usr/bin", "/bin"}

// callTool runs a tool of the user database. A process that it leaves behind, such as a name cache,
// keeps running.
func callTool(ctx context.Context, argv []string) error {
	c := command.Cmd{
		Argv: argv, Search: toolDirs, Env: command.PlainEnv(toolDirs), Dir: "/",
		Timeout: toolTime, KeepGroup: true,
	}
	_, err := command.Run(ctx, c)
	if errors.Is(err, exec.ErrNotFound) { // a system that has them elsewhere
		c.Search = nil
		_, err = command.Run(ctx, c)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: install %s (Debian: passwd; Fedora: shadow-utils), "+
			"or set account = \"caller\"", err, argv[0])
	}
	return err
}

func ownerOf(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
