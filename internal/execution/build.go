package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"krund/internal/durable/foreign"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
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

// Relink is the user's command that links the benchmark anew before an execution, so that its code
// and data lie elsewhere.
type Relink struct {
	Argv      []string // empty: there is none
	Timeout   time.Duration
	Variables []string // about the execution, for the command's environment
	// absolute path of the directory in which the command writes if the account has no home of its
	// own
	Scratch string
}

// linkerOutput is how many bytes of each output stream of the command are kept, for its last line.
const linkerOutput = 64 << 10

// Variables describe an execution of a key to the user's commands: its slot, its number among those
// of the key, from 1, and its attempt.
func Variables(cfg *config.Config, dir string, k key.Key, slot, number, attempt int) []string {
	return []string{"KRUND_EXPERIMENT=" + cfg.Experiment.Name, "KRUND_DIRECTORY=" + dir,
		"KRUND_KEY=" + k.String(), "KRUND_ARM=" + k.Arm, fmt.Sprintf("KRUND_SLOT=%d", slot),
		fmt.Sprintf("KRUND_EXECUTION=%d", number), fmt.Sprintf("KRUND_ATTEMPT=%d", attempt)}
}

// Relink runs the command of j as the account of the benchmark, and makes j execute the file that
// the command has written. If the command fails, j.Missing is the reason, which Execute reports.
// The error is for what krund itself could not do, and for the end of ctx.
func (e Executor) Relink(ctx context.Context, j *Job) error {
	if len(j.Relink.Argv) == 0 || j.Missing != "" {
		return nil
	}
	j.Layout.Relinked = &results.Relink{Seed: j.Layout.LinkSeed}
	why, err := e.relink(ctx, j)
	if why != "" {
		j.Missing = "experiment.relink: " + why
	}
	return err
}

// relink returns why the command failed, or "".
func (e Executor) relink(ctx context.Context, j *Job) (why string, err error) {
	from := &j.Entry
	if *from == "" {
		from = &j.Program // a suite without a file
	}
	into, err := j.linkDirectory()
	if err != nil {
		return err.Error(), nil
	}
	to := filepath.Join(into, filepath.Base(*from))
	program, err := config.LookPath(j.Relink.Argv[0])
	if err != nil {
		return err.Error(), nil
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err.Error(), nil
	}
	run, err := e.Runner.Run(ctx, j.linker(e.Installed, program, *from, to))
	switch {
	case err != nil:
		return "", fmt.Errorf("run experiment.relink: %w", err)
	case run.Interrupted:
		return "", context.Cause(ctx)
	}
	if why := failure(run, fmt.Sprintf("%s (hooks.timeout)", j.Relink.Timeout)); why != "" {
		return why, nil
	}
	if j.Layout.Relinked.SHA256, err = hashLinked(ctx, to); err != nil {
		return err.Error(), nil
	}
	j.Directory, *from = j.dir(), to
	return "", nil
}

// linkDirectory returns the directory in which the command writes: the home of the account, which
// is empty and belongs to this execution. Others cannot write there, and root never executes it.
func (j *Job) linkDirectory() (string, error) {
	switch {
	case !j.Account.IsCaller():
		return j.Account.Home, nil
	case j.Root:
		return "", errors.New(`the result would run as root; set experiment.account = "fresh"`)
	}
	return j.Relink.Scratch, os.MkdirAll(j.Relink.Scratch, 0o700)
}

// linker returns the command that reads the file from and writes the file to.
func (j *Job) linker(in Installed, program, from, to string) child.Command {
	c := child.Command{
		Path: program, Args: append([]string{program}, j.Relink.Argv[1:]...), Dir: j.dir(),
		Env: slices.Concat(j.userEnvironment(in), j.Relink.Variables, []string{
			fmt.Sprintf("KRUN_LAYOUT_SEED=%d", j.Layout.LinkSeed),
			"KRUN_LAYOUT_ENTRY=" + from, "KRUN_LAYOUT_OUTPUT=" + to,
		}),
		Cgroup: in.Cgroup,
		Limits: child.Limits{Output: linkerOutput, Timeout: j.Relink.Timeout, Processes: j.Limits.Processes},
	}
	j.asUser(&c)
	return c
}

// failure returns how the command failed, with the last line that it wrote, or "".
func failure(run child.Run, limit string) string {
	how := ""
	switch {
	case run.NotStarted != nil:
		return run.NotStarted.Text
	case run.TimedOut:
		how = "killed at the time limit of " + limit
	case run.Exit == nil:
		how = "killed by " + run.Signal
	case *run.Exit != 0:
		how = fmt.Sprintf("exit status %d", *run.Exit)
	default:
		return ""
	}
	if words := lastWords(run); words != "" {
		how += ": " + words
	}
	return how
}

// hashLinked hashes what the command has written. All its processes have ended, so that the file
// does not become a link to one that only root can read.
func hashLinked(ctx context.Context, path string) (string, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return "", fmt.Errorf("the command must write the file $KRUN_LAYOUT_OUTPUT: %w", err)
	}
	return foreign.Hash(ctx, path)
}
