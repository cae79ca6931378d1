// Package bisection keeps a bisection in a directory: its plan, the builds, and one experiment per
// step. Everything that a decision needs is in those files, so that a bisection goes on after a
// power cut, and the machine does other work between two steps.
//
// It decides nothing (internal/analysis/sequential does), and runs no experiment: krund does. Start
// reading at [Bisection.Next].
package bisection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"krund/internal/analysis/sequential"
	"krund/internal/durable"
	"krund/internal/machine/command"
)

// Plan is what to find and how, in bisect.json. It does not change.
type Plan struct {
	Versions []string `json:"versions"` // the good one first, the bad one last
	Key      string   `json:"key"`      // without an arm
	Delta    float64  `json:"delta"`    // see sequential.BisectQuestion
	Most     int      `json:"most"`
	Build    string   `json:"build"`    // a command of the shell
	Timeout  string   `json:"timeout"`  // of a build
	Template string   `json:"template"` // text of the configuration of a step
	// To is the machine or pool of a hub that measures the steps; "": this machine. The directories
	// of builds in a configuration are relative then, so that they are sent with it.
	To string `json:"to,omitempty"`
}

// Names of the arms of a step.
const (
	Good      = "good"
	Candidate = "candidate"
)

// Placeholders of a template.
const (
	goodPlace, goodBuildPlace           = "@GOOD@", "@GOOD_BUILD@"
	candidatePlace, candidateBuildPlace = "@CANDIDATE@", "@CANDIDATE_BUILD@"
)

// Check reports a mistake of the plan.
func (p *Plan) Check() error {
	seen := map[string]bool{}
	for _, v := range p.Versions {
		if seen[v] {
			return fmt.Errorf("version %s occurs twice", v)
		}
		seen[v] = true
	}
	switch d, err := time.ParseDuration(p.Timeout); {
	case len(p.Versions) < 2:
		return errors.New("give at least two versions: the good one first, the bad one last")
	case !(p.Delta > 0 && p.Delta < 0.5):
		return fmt.Errorf("the probability of a wrong answer must be between 0 and 0.5, such as 0.05, "+
			"not %v", p.Delta)
	case p.Most < 1:
		return fmt.Errorf("the most blocks of the bad version must be at least 1, not %d", p.Most)
	case err != nil || d <= 0:
		return fmt.Errorf("the time of a build must be such as 1h, not %q", p.Timeout)
	case !strings.Contains(p.Template, candidatePlace):
		return fmt.Errorf("the template needs revision = %q in [arms.%s], and uses of %s and %s",
			candidatePlace, Candidate, goodBuildPlace, candidateBuildPlace)
	}
	return nil
}

// Bisection is a directory with a plan.
type Bisection struct {
	FS   durable.FS
	Dir  string // absolute
	Plan Plan
}

func planFile(dir string) string { return filepath.Join(dir, "bisect.json") }

// Create makes the directory of a bisection.
func Create(fsys durable.FS, dir string, p Plan) (*Bisection, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if _, err := fsys.Lstat(planFile(dir)); err == nil {
		return nil, fmt.Errorf("%s is a bisection already; continue it without other flags, or choose "+
			"another directory", dir)
	}
	if err := durable.MkdirAll(fsys, filepath.Join(dir, "builds")); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	if err := durable.WriteFile(fsys, planFile(dir), append(text, '\n'), 0o644); err != nil {
		return nil, err
	}
	return Open(fsys, dir)
}

// Open opens the directory of a bisection. The error wraps fs.ErrNotExist if it is none.
func Open(fsys durable.FS, dir string) (*Bisection, error) {
	text, err := durable.ReadFile(fsys, planFile(dir))
	if err != nil {
		return nil, fmt.Errorf("%s is no bisection: %w", dir, err)
	}
	b := &Bisection{FS: fsys}
	if b.Dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find %s: %w", dir, err)
	}
	if err := json.Unmarshal(text, &b.Plan); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", planFile(dir), err)
	}
	if err := b.Plan.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", planFile(dir), err)
	}
	return b, nil
}

// Step returns the configuration file of step n, from 1, and whether it exists.
func (b *Bisection) Step(n int) (file string, exists bool) {
	name := fmt.Sprintf("step-%03d.toml", n)
	if b.Plan.To != "" { // a hub has the steps of other bisections, too
		name = strings.TrimSuffix(filepath.Base(b.Dir), ".bisect") + "-" + name
	}
	file = filepath.Join(b.Dir, name)
	_, err := b.FS.Lstat(file)
	return file, err == nil
}

func (b *Bisection) build(version int, ending string) string { return build(b.Dir, version, ending) }

func build(dir string, version int, ending string) string {
	return filepath.Join(dir, "builds", fmt.Sprintf("%04d%s", version, ending))
}

// Lock keeps other calls away until the file is closed: two that build at once would write into the
// same directory.
func (b *Bisection) Lock() (io.Closer, error) {
	file, err := b.FS.OpenFile(filepath.Join(b.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the bisection: %w", err)
	}
	if err := file.TryLock(); err != nil {
		err = errors.Join(err, file.Close())
		return nil, fmt.Errorf("%s: another krunctl bisect works on it; wait until it has ended: %w", b.Dir,
			err)
	}
	return file, nil
}

// Skip marks a version that cannot be measured, and why.
func (b *Bisection) Skip(version int, why string) error {
	return durable.WriteFile(b.FS, b.build(version, ".skip"), []byte(why+"\n"), 0o644)
}

// Skipped reports whether a version is marked.
func (b *Bisection) Skipped(version int) bool {
	_, err := b.FS.Lstat(b.build(version, ".skip"))
	return err == nil
}

// Retry removes the marks, and returns how many there were: what could not be built is tried again.
func (b *Bisection) Retry() (n int, err error) {
	for v := range b.Plan.Versions {
		if !b.Skipped(v) {
			continue
		}
		if err := b.FS.Remove(b.build(v, ".skip")); err != nil {
			return n, fmt.Errorf("try version %s again: %w", b.Plan.Versions[v], err)
		}
		n++
	}
	return n, nil
}

// Next builds what d wants to measure and writes the configuration of step n. If a version cannot
// be built, it is marked and file is "": decide again.
func (b *Bisection) Next(ctx context.Context, d sequential.BisectDecision, n int) (file string, err error) {
	for _, version := range []int{0, d.Version} {
		err := b.Build(ctx, version)
		switch {
		case err == nil:
		case ctx.Err() != nil || version == 0 || version == len(b.Plan.Versions)-1:
			return "", err
		default:
			return "", b.Skip(version, err.Error())
		}
	}
	file, _ = b.Step(n)
	return file, durable.WriteFile(b.FS, file, []byte(b.Plan.Configuration(b.Dir, d.Version)), 0o644)
}

// Configuration returns the text of the configuration of a step that measures a version. dir is
// that of the bisection, absolute.
func (p *Plan) Configuration(dir string, version int) string {
	if p.To != "" {
		dir = ""
	}
	return strings.NewReplacer(
		goodPlace, p.Versions[0], goodBuildPlace, build(dir, 0, ""),
		candidatePlace, p.Versions[version], candidateBuildPlace, build(dir, version, ""),
	).Replace(p.Template)
}

// Build runs the build command for a version, unless it was built. KRUND_REVISION is the version,
// KRUND_OUTPUT the directory for what is built, which may have parts of a build that was
// interrupted.
func (b *Bisection) Build(ctx context.Context, version int) error {
	done := b.build(version, ".built")
	if _, err := b.FS.Lstat(done); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look for the build: %w", err)
	}
	output := b.build(version, "")
	if err := durable.MkdirAll(b.FS, output); err != nil {
		return err
	}
	timeout, err := time.ParseDuration(b.Plan.Timeout)
	if err != nil {
		return fmt.Errorf("the time of a build: %w", err)
	}
	revision := b.Plan.Versions[version]
	_, err = command.Run(ctx, command.Cmd{
		Argv: []string{"sh", "-c", b.Plan.Build}, Timeout: timeout, WithParent: syscall.SIGHUP,
		Env: append(os.Environ(), "KRUND_REVISION="+revision, "KRUND_OUTPUT="+output),
	})
	if err != nil {
		return fmt.Errorf("build %s: %w", revision, err)
	}
	syscall.Sync() // a power cut must not leave the mark of a build without its files
	return durable.WriteFile(b.FS, done, []byte(revision+"\n"), 0o644)
}

// Remote is a step that a hub has.
type Remote struct {
	Hub string `json:"hub"` // its address
	ID  string `json:"id"`  // of the experiment, stored before it is submitted
}

func beside(step, ending string) string { return strings.TrimSuffix(step, ".toml") + ending }

// Results returns the directory for what the hub has measured of a step.
func Results(step string) string { return beside(step, ".results") }

// Remote returns what a hub has of a step. The error wraps fs.ErrNotExist if it was not submitted.
func (b *Bisection) Remote(step string) (r Remote, err error) {
	text, err := durable.ReadFile(b.FS, beside(step, ".hub"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read where step %s is: %w", step, err)
	}
	return r, nil
}

// SetRemote stores what a hub will have of a step.
func (b *Bisection) SetRemote(step string, r Remote) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return durable.WriteFile(b.FS, beside(step, ".hub"), append(text, '\n'), 0o644)
}

// Fetched makes dir, which was just written, the results of a step.
func (b *Bisection) Fetched(step, dir string) error {
	syscall.Sync() // a power cut must not leave the name of a directory without its files
	if err := b.FS.Rename(dir, Results(step)); err != nil {
		return err
	}
	return b.FS.SyncDir(b.Dir)
}

// Forget removes what a hub has measured of a step: it will be submitted again.
func (b *Bisection) Forget(step string) error {
	if err := os.RemoveAll(Results(step)); err != nil {
		return err
	}
	return b.FS.Remove(beside(step, ".hub"))
}
