package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/bundle"
)

// Build makes a program of a source, as the account of benchmarks.
type Build struct {
	Source  string   // absolute path of a directory, of which the command has a copy to work in
	Into    string   // absolute path of the directory that becomes what the command leaves
	Argv    []string // {directory} in it is where the command leaves what is measured
	Timeout time.Duration
	Account account.Account // empty home; zero: the caller's
	Scratch string          // absolute path of the empty directory to work in, without such a home
}

// ErrBuild is in the error of a command that has failed, or has left what cannot be measured.
var ErrBuild = errors.New("the build failed")

// Build returns what the command has printed, its first and last 128 KiB.
func (e Executor) Build(ctx context.Context, b Build) (output string, err error) {
	const most, processes = 256 << 10, 4096
	j := Job{Account: b.Account, Root: os.Geteuid() == 0}
	work := cmp.Or(b.Account.Home, b.Scratch)
	source, made := filepath.Join(work, "source"), filepath.Join(work, "built")
	if err := errors.Join(bundle.CopyTree(b.Source, source), os.MkdirAll(made, 0o755)); err != nil {
		return "", err
	}
	if !b.Account.IsCaller() {
		for _, dir := range []string{source, made} {
			if err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Lchown(name, b.Account.UID, b.Account.GID))
			}); err != nil {
				return "", err
			}
		}
	}
	argv := []string{"/bin/sh", "-c", `exec "$@" 2>&1`, "sh"} // one text, in its order
	for _, word := range b.Argv {
		argv = append(argv, strings.ReplaceAll(word, "{directory}", made))
	}
	c := child.Command{Path: argv[0], Args: argv, Dir: source, Env: j.userEnvironment(e.Installed),
		Cgroup: e.Installed.Cgroup,
		Limits: child.Limits{Output: most, Timeout: b.Timeout, Processes: processes}}
	j.asUser(&c)
	run, err := e.Runner.Run(ctx, c)
	switch {
	case err != nil:
		return "", err
	case run.Interrupted:
		return "", context.Cause(ctx)
	}
	output = run.Stdout.Text + run.Stderr.Text
	if why := failure(run, b.Timeout.String()); why != "" {
		return output, fmt.Errorf("%w: %s", ErrBuild, why)
	}
	// Its processes have ended: nothing moves.
	err = b.owned(made)
	if err == nil {
		err = bundle.CopyTree(made, b.Into)
	}
	if err != nil {
		return output, fmt.Errorf("%w: what it has left in {directory}: %w", ErrBuild, err)
	}
	return output, nil
}

// owned refuses files of others: the account may link to what it cannot read, if the kernel does
// not forbid that (fs.protected_hardlinks).
func (b Build) owned(dir string) error {
	if b.Account.IsCaller() {
		return nil
	}
	entries := 0
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entries++; entries > 2*bundle.MaxFiles {
			return fmt.Errorf("it has more than %d files", bundle.MaxFiles)
		}
		info, err := d.Info()
		if err == nil && int(info.Sys().(*syscall.Stat_t).Uid) != b.Account.UID {
			err = fmt.Errorf("%q belongs to another account", filepath.Base(name))
		}
		return err
	})
}
