package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"krund/internal/experiment/bundle"
	"krund/internal/machine/command"
)

// mirror has the commits of a repository: a bare one, without files if the other side can leave
// them out. Nothing of it is ever checked out here.
type mirror struct {
	dir string
	of  Schedule
}

// patience bounds one call of git.
const patience = 10 * time.Minute

const watched = "refs/heads/watched"

var commit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// git runs git in the mirror and returns what it prints. It asks for nothing, and follows no
// protocol that starts other programs.
func (m mirror) git(ctx context.Context, arguments ...string) (string, error) {
	const most = 1 << 20
	out, err := command.Run(ctx, command.Cmd{Argv: append([]string{"git", "-C", m.dir}, arguments...),
		Env: append(plainEnv(), "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:ssh:file",
			"GIT_NO_LAZY_FETCH=1"), Timeout: patience, Output: most, StdoutOnly: true})
	return strings.TrimSpace(out), err
}

// plainEnv is the environment of other programs: without the hub's secrets.
func plainEnv() (list []string) {
	for _, name := range []string{"PATH", "HOME", "LANG", "SSH_AUTH_SOCK"} {
		if v, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+v)
		}
	}
	return list
}

// fetch brings a reference of the repository into the mirror, and returns its commit.
func (m mirror) fetch(ctx context.Context, from, to string) (string, error) {
	if _, err := os.Stat(filepath.Join(m.dir, "HEAD")); err != nil {
		const ownerOnly = 0o700
		err := os.MkdirAll(m.dir, ownerOnly)
		if err == nil {
			_, err = m.git(ctx, "init", "--quiet", "--bare")
		}
		if err != nil {
			return "", err
		}
	}
	_, err := m.git(ctx, "config", "remote.origin.url", m.of.Repository)
	if err == nil {
		_, err = m.git(ctx, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--filter=tree:0",
			"origin", "+"+from+":"+to)
	}
	if err != nil {
		return "", err
	}
	return m.revision(ctx, to)
}

// revision returns the commit that a name stands for.
func (m mirror) revision(ctx context.Context, name string) (string, error) {
	found, err := m.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err == nil && !commit.MatchString(found) {
		err = fmt.Errorf("git names the commit of %s %.80q", name, found)
	}
	return found, err
}

// mostCommits is how many of those that came since the last look are measured.
const mostCommits = 100

// since returns the commits of the branch after a revision, the oldest first: at most mostCommits
// newest ones, and only tip if the revision is "" or not known any more.
func (m mirror) since(ctx context.Context, head, tip string) ([]string, error) {
	if head == tip {
		return nil, nil
	}
	if head == "" {
		return []string{tip}, nil
	}
	var exit *exec.ExitError
	_, err := m.git(ctx, "merge-base", "--is-ancestor", head, tip)
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0: // the branch was rewritten
		return []string{tip}, ctx.Err()
	case err != nil:
		return nil, err
	}
	out, err := m.git(ctx, "rev-list", "--first-parent", fmt.Sprint("--max-count=", mostCommits), "--reverse",
		head+".."+tip)
	if err != nil {
		return nil, err
	}
	list := strings.Fields(out)
	for _, c := range list {
		if !commit.MatchString(c) {
			return nil, errors.New("git prints no list of commits")
		}
	}
	return list, nil
}

// base returns the revision of the branch that a change begins at.
func (m mirror) base(ctx context.Context, revision string) (string, error) {
	found, err := m.git(ctx, "merge-base", watched, revision)
	if err == nil && !commit.MatchString(found) {
		err = errors.New("the change and the branch have no commit in common")
	}
	return found, err
}

// source writes the files of a revision into a directory: git makes an archive, and checks nothing
// out. A link may lead out of the directory; nothing follows it but bundle.PackTree, which refuses
// that.
func (m mirror) source(ctx context.Context, revision, dir string) error {
	alone := mirror{dir + ".git", m.of}
	defer os.RemoveAll(alone.dir) //nolint:errcheck // the next start removes it, too
	const ownerOnly = 0o700
	err := os.Mkdir(alone.dir, ownerOnly)
	for _, arguments := range [][]string{{"init", "--quiet", "--bare"}, {"fetch", "--quiet", "--no-tags",
		"--depth=1", "--no-recurse-submodules", m.of.Repository, revision}} {
		if err == nil {
			_, err = alone.git(ctx, arguments...)
		}
	}
	if err != nil {
		return fmt.Errorf("fetch the files of %s: %w", short(revision), err)
	}
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := bundle.UnpackTree(r, dir)
		r.CloseWithError(err)
		done <- err
	}()
	_, err = command.Run(ctx, command.Cmd{Argv: []string{"git", "-C", alone.dir, "archive", revision},
		Env: plainEnv(), Timeout: patience, Output: 1, StdoutOnly: true, Tee: w})
	w.CloseWithError(err)
	if wrong := <-done; wrong != nil && ctx.Err() == nil {
		return buildFailed{fmt.Errorf("the source of %s: %w", short(revision), wrong)}
	}
	return err
}
