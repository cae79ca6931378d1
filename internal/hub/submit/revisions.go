package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/machine/command"
	"krund/internal/reading/experiment"
)

// Bounds of what --arms runs.
const (
	gitTime   = 10 * time.Minute
	buildTime = 2 * time.Hour
)

// revision is one that --arms names.
type revision struct {
	name, commit string
	null         bool // named before
}

// Revisions checks the revisions REV1,REV2... of the benchmarks' git repository out below dir, runs
// the shell command build in each unless it is "", and returns the configuration with an arm for
// each and what its directories of benchmarks contain. say reports progress; output gets what
// builds print.
func Revisions(ctx context.Context, cfg *config.Config, revisions, build, dir string,
	say func(string, ...any), output io.Writer) (*config.Config, []bundle.Copy, error) {
	if len(cfg.Arms) > 0 {
		return nil, nil, experiment.Usage(
			errors.New("--arms: the configuration has [arms] already; remove them"),
		)
	}
	names := strings.Split(revisions, ",")
	if len(names) < 2 {
		return nil, nil, experiment.Usage(
			fmt.Errorf("--arms must name two revisions, BASE,OTHER, not %q", revisions),
		)
	}
	benchmarks := cfg.Experiment.Benchmarks
	top, err := git(ctx, benchmarks, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, nil, fmt.Errorf("--arms: %s is in no git repository: %w", benchmarks, err)
	}
	inside, err := filepath.Rel(top, benchmarks)
	if err != nil {
		return nil, nil, err
	}
	list, err := resolve(ctx, top, names)
	if err != nil {
		return nil, nil, err
	}
	beside := cfg.Experiment.Name + ".arms"
	text := cfg.Text + "\n# added by krunctl hub submit --arms\n"
	var copies []bundle.Copy
	for _, r := range list {
		if r.null {
			text += fmt.Sprintf("[arms.%q]\nnull = true\n", r.name)
			continue
		}
		tree := filepath.Join(dir, r.name)
		if err := checkOut(ctx, top, r, tree, build, say, output); err != nil {
			return nil, nil, err
		}
		text += fmt.Sprintf("[arms.%q]\nbenchmarks = %q\nrevision = %q\n", r.name, beside+"/"+r.name,
			r.commit)
		copies = append(copies, bundle.Copy{From: filepath.Join(tree, inside),
			As: filepath.Join(filepath.Dir(cfg.Path), beside, r.name)})
	}
	changed, err := withText(cfg, text)
	return changed, copies, err
}

// unfit are the characters that the name of an arm cannot have.
var unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// resolve returns the commits of the revisions, with names for their arms.
func resolve(ctx context.Context, top string, names []string) ([]revision, error) {
	var list []revision
	for _, name := range names {
		commit, err := git(ctx, top, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
		if err != nil {
			return nil, experiment.Usage(fmt.Errorf("--arms: there is no revision %q: %w", name, err))
		}
		r := revision{name: strings.Trim(unfit.ReplaceAllString(name, "-"), ".-"), commit: commit}
		r.null = len(list) > 0 && list[0].commit == commit
		taken := func(name string) bool {
			return name == "" || slices.ContainsFunc(list, func(o revision) bool { return o.name == name })
		}
		if taken(r.name) {
			r.name = strings.Trim(fmt.Sprintf("%s-%d", r.name, len(list)+1), "-")
		}
		list = append(list, r)
	}
	return list, nil
}

// checkOut makes a tree of a revision and builds it.
func checkOut(ctx context.Context, top string, r revision, tree, build string,
	say func(string, ...any), output io.Writer) error {
	say("%s: %.12s", r.name, r.commit)
	if _, err := git(ctx, top, "clone", "--quiet", "--shared", "--no-checkout", "--", top, tree); err != nil {
		return err
	}
	if _, err := git(ctx, tree, "checkout", "--quiet", "--detach", r.commit); err != nil {
		return err
	}
	if build == "" {
		return nil
	}
	_, err := command.Run(ctx, command.Cmd{Argv: []string{"/bin/sh", "-c", build}, Dir: tree,
		Timeout: buildTime, Tee: output, Interrupt: true})
	if err != nil {
		return fmt.Errorf("build %s: %w", r.name, err)
	}
	return nil
}

// git runs git in a directory and returns what it prints.
func git(ctx context.Context, dir string, arguments ...string) (string, error) {
	out, err := command.Run(ctx, command.Cmd{Argv: append([]string{"git", "-C", dir}, arguments...),
		Timeout: gitTime, StdoutOnly: true})
	return strings.TrimSpace(out), err
}

// withText parses another text of a configuration.
func withText(cfg *config.Config, text string) (*config.Config, error) {
	return config.Parse(cfg.Path, []byte(text), cfg.Hostname, doctor.Settings())
}
