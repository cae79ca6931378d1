package trial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"krund/internal/machine/command"
)

// Revisions are revisions of the git repository of the working directory that are built and timed
// in turns.
type Revisions struct {
	Names []string // the first is what the others are compared with, and exists twice: the null arm
	Build string   // shell command that builds a revision in its own copy of the directory; "" for none
	Go    string   // pattern of benchmarks of a Go package, which is then built; "": a command is timed
}

// Check returns an error for a plan that revisions cannot have.
func (v Revisions) Check(p Plan) error {
	switch {
	case len(v.Names) < 2:
		return errors.New("--revisions needs two or more, such as main,HEAD")
	case len(p.Subjects) != 1 || !p.Subjects[0].IsCommand() || p.Referred:
		return errors.New("--revisions times one command, which is no benchmark file, and has no --reference")
	}
	return nil
}

// buildTime bounds the build of a revision, and the commands of git.
const buildTime = time.Hour

// Checkout makes a worktree of each revision, and a second one of the first, in the directory
// temporary, builds them, and makes them the subjects of the plan instead of its only one, the
// command or Go package arg. The function that it returns removes the worktrees; it must be called,
// also after an error.
func (v Revisions) Checkout(ctx context.Context, p *Plan, arg, temporary string,
	line func(string)) (remove func(), err error) {
	var made []string
	run := func(ctx context.Context, dir string, argv ...string) (string, error) {
		out, err := command.Run(ctx, command.Cmd{Argv: argv, Dir: dir, Timeout: buildTime, Interrupt: true})
		return strings.TrimSpace(out), err
	}
	remove = func() {
		after := context.WithoutCancel(ctx)
		for _, dir := range made {
			_, _ = run(after, p.Dir, "git", "worktree", "remove", "--force", dir)
		}
	}
	prefix, err := run(ctx, p.Dir, "git", "rev-parse", "--show-prefix")
	if err != nil {
		return remove, fmt.Errorf("--revisions needs a git repository here: %w", err)
	}
	only := p.Subjects[0]
	p.Subjects, p.Referred, p.Null = nil, true, 1
	names := slices.Insert(slices.Clone(v.Names), 1, v.Names[0])
	commits := make([]string, len(names))
	for i, name := range names { // all of them before the first build, which may take long
		commits[i], err = run(ctx, p.Dir, "git", "rev-parse", "--verify", "--quiet", "--end-of-options",
			name+"^{commit}")
		if err != nil {
			return remove, fmt.Errorf("--revisions: git knows no revision %q", name)
		}
	}
	for i, name := range names {
		tree := filepath.Join(temporary, "revision"+strconv.Itoa(i)) // as long as the others
		_, err = run(ctx, p.Dir, "git", "worktree", "add", "--quiet", "--detach", tree, commits[i])
		if err != nil {
			return remove, err
		}
		made = append(made, tree)
		s := only
		s.Dir, s.Text = filepath.Join(tree, prefix), name
		if i == p.Null {
			s.Text += ", a second copy"
		}
		line("building " + s.Text)
		if v.Build != "" {
			if out, err := run(ctx, s.Dir, "sh", "-c", v.Build); err != nil {
				return remove, fmt.Errorf("build %s: %w%s", name, err, indented(out))
			}
		}
		if v.Go != "" {
			s.Dir = filepath.Join(s.Dir, arg)
			if out, err := run(ctx, s.Dir, "go", "test", "-c", "-o", "krunctl-time.test", "."); err != nil {
				return remove, fmt.Errorf("build %s: %w%s", name, err, indented(out))
			}
		}
		p.Subjects = append(p.Subjects, s)
	}
	if v.Go != "" {
		if err := v.benchmarks(ctx, p); err != nil {
			return remove, err
		}
	}
	name(p.Subjects)
	return remove, nil
}

// indented are the last lines of an output.
func indented(out string) string {
	const most = 10
	lines := strings.Split(out, "\n")
	return "\n    " + strings.Join(lines[max(0, len(lines)-most):], "\n    ")
}

// goRun is how long the benchmarks of a Go package take in a run: the start of the process is then
// a small part of it.
const goRun = 100 * time.Millisecond

var goResult = regexp.MustCompile(`(?m)^Benchmark.* ([0-9.]+) ns/op`)

// benchmarks makes runs of test binaries from the subjects: of all benchmarks that match, with the
// same number of calls in each revision, which takes goRun in the first.
func (v Revisions) benchmarks(ctx context.Context, p *Plan) error {
	argv := func(s Subject, calls string) []string {
		return []string{filepath.Join(s.Dir, "krunctl-time.test"), "-test.run", "^$", "-test.bench", v.Go,
			"-test.benchtime", calls}
	}
	first := p.Subjects[0]
	out, err := command.Run(ctx, command.Cmd{Argv: argv(first, goRun.String()), Dir: first.Dir,
		Timeout: buildTime, Interrupt: true})
	if err != nil {
		return err
	}
	sum := 0.0
	for _, m := range goResult.FindAllStringSubmatch(out, -1) {
		if ns, err := strconv.ParseFloat(m[1], 64); err == nil {
			sum += ns
		}
	}
	if sum == 0 {
		return fmt.Errorf("--go %s: no benchmark of %s matches:%s", v.Go, first.Text, indented(out))
	}
	for i := range p.Subjects {
		s := &p.Subjects[i]
		s.Argv = argv(*s, strconv.Itoa(max(1, int(float64(goRun.Nanoseconds())/sum)))+"x")
	}
	p.Calibrate = nil
	return nil
}
