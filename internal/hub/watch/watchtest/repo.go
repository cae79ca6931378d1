package watchtest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// experiment compares two builds.
//
//go:embed vm.toml
var experiment string

// Repo is a git repository with a program that is built by copying it, and experiments that compare
// two of its revisions: each one with the last, and those of an event again.
type Repo struct {
	Dir, Build, Experiment, Again string
}

// NewRepo makes one without commits.
func NewRepo(t testing.TB) Repo {
	t.Helper()
	dir := t.TempDir()
	r := Repo{filepath.Join(dir, "repo"), filepath.Join(dir, "build"), filepath.Join(dir, "lab", "vm.toml"),
		filepath.Join(dir, "lab", "again.toml")}
	must.Do(t, os.MkdirAll(filepath.Dir(r.Experiment), 0o755))
	must.Do(t, os.WriteFile(r.Build, []byte("#!/bin/sh\nset -e\ngit -C \"$1\" archive \"$2\" > \"$3.tar\"\n"+
		"tar -x -f \"$3.tar\" -C \"$3\"\nrm \"$3.tar\"\ntest ! -e \"$3/broken\"\n"), 0o755))
	must.Do(t, os.WriteFile(r.Experiment, []byte(experiment), 0o644))
	must.Do(t, os.WriteFile(r.Again, []byte(experiment+"\n[arms.again]\nnull = true\n"), 0o644))
	r.git(t, "init", "--quiet", "--initial-branch=main", r.Dir)
	return r
}

// Commit commits a version of the program on a branch, and returns the revision.
func (r Repo) Commit(t testing.TB, branch, program string, files ...string) string {
	t.Helper()
	if branch != "main" {
		r.git(t, "-C", r.Dir, "checkout", "--quiet", "-B", branch)
		defer r.git(t, "-C", r.Dir, "checkout", "--quiet", "main")
	}
	must.Do(t, os.MkdirAll(filepath.Join(r.Dir, "json"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(r.Dir, "json", "bench.py"), []byte(program), 0o644))
	for _, name := range files {
		must.Do(t, os.WriteFile(filepath.Join(r.Dir, name), nil, 0o644))
	}
	r.git(t, "-C", r.Dir, "add", "-A")
	r.git(t, "-C", r.Dir, "commit", "--quiet", "--allow-empty", "-m", "`hostile` @everyone $(reboot)")
	return r.git(t, "-C", r.Dir, "rev-parse", "HEAD")
}

// Ref makes a reference to a revision.
func (r Repo) Ref(t testing.TB, name, revision string) {
	t.Helper()
	r.git(t, "-C", r.Dir, "update-ref", name, revision)
}

func (r Repo) git(t testing.TB, arguments ...string) string {
	t.Helper()
	c := exec.Command("git", arguments...)
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := c.CombinedOutput()
	must.Need(t, err == nil, "git", arguments, string(out), err)
	return strings.TrimSpace(string(out))
}

// TOML is the section of hub.toml that measures the repository.
func (r Repo) TOML(every, missed, answer string) string {
	return fmt.Sprintf(`[[schedule]]
name = "vm"
repository = %q
branch = "main"
every = %q
missed = %q
build = [%q, "{repository}", "{revision}", "{directory}"]
experiment = %q
to = "lab"
[schedule.answer]
%s
`, r.Dir, every, missed, r.Build, r.Experiment, answer)
}
