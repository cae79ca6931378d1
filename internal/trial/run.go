package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/reading/experiment"
)

// Runner lets krund run the experiment of a plan.
type Runner struct {
	FS    durable.FS
	Krund string            // path of the program
	Line  func(text string) // shows progress in a line
}

// Pilot runs each subject once, with the configuration path, and returns how long a run took.
func (r Runner) Pilot(ctx context.Context, p Plan, path string) ([]time.Duration, error) {
	const few = 3 // iterations of a benchmark file
	p.Executions, p.Calibrate, p.Iterations = 1, nil, make([]int, len(p.Subjects))
	for i, s := range p.Subjects {
		p.Iterations[i] = few
		if s.IsCommand() {
			p.Iterations[i] = 1
		}
	}
	data, err := r.Run(ctx, p, path)
	if err != nil {
		return nil, err
	}
	one := make([]time.Duration, len(p.Subjects))
	var failed error
	for i, s := range p.Subjects {
		executions := executionsOf(data, p, s)
		if len(executions) == 0 || executions[0].Outcome != results.Completed {
			failed = errors.Join(failed, fmt.Errorf("%s: %s%s", s.Text, firstReason(executions),
				r.messages(path, p.Key(s))))
			continue
		}
		values, _ := executions[0].Values(dataset.Wall)
		one[i] = time.Duration(values[len(values)-1] * float64(time.Second))
		r.Line(fmt.Sprintf("%s: about %s", s.Text, display.Nanoseconds(float64(one[i]))))
	}
	return one, failed
}

func executionsOf(d *dataset.Dataset, p Plan, s Subject) []dataset.Execution {
	if pair := d.Find(p.Key(s)); pair != nil {
		return pair.Executions
	}
	return nil
}

func firstReason(executions []dataset.Execution) string {
	for _, e := range executions {
		if len(e.Reasons) > 0 {
			return e.Reasons[0]
		}
	}
	return "it was not run"
}

// messages returns what a failed subject printed on standard error, indented, without the runner's
// own message, which is in the reason.
func (r Runner) messages(path string, k key.Key) string {
	const most = 5 // lines
	var lines []string
	reader := results.NewReader(r.FS, filepath.Join(experiment.DirectoryOf(path), "results"))
	for record, err := range reader.All() {
		if err != nil || record.Key != k || record.Outcome == results.Completed {
			continue
		}
		for line := range strings.Lines(record.Process.Stderr.Text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "runner: ") {
				lines = append(lines, "\n    "+line)
			}
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// Run writes a plan's configuration to path, lets krund run it and reads the results. That
// executions failed is in the data.
func (r Runner) Run(ctx context.Context, p Plan, path string) (*dataset.Dataset, error) {
	if err := os.WriteFile(path, []byte(p.TOML()), 0o644); err != nil {
		return nil, fmt.Errorf("write the experiment: %w", err)
	}
	const days = 365 * 24 * time.Hour
	_, failed := command.Run(ctx, command.Cmd{
		Argv: []string{r.Krund, "run", path}, Timeout: days, // it gets this environment, unchanged
		Tee: &follower{line: r.Line}, StdoutOnly: true, Interrupt: true, WithParent: syscall.SIGHUP,
	})
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	data, err := experiment.ReadResults(r.FS, filepath.Join(experiment.DirectoryOf(path), "results"), nil)
	switch {
	case failed != nil && (err != nil || len(data.Pairs) == 0): // krund says why
		return nil, failed
	case err != nil:
		return nil, err
	}
	return data, nil
}

// follower shows the last line that krund printed. krund prints between executions only, so
// krunctl sleeps while a program runs.
type follower struct {
	line func(string)
	part []byte
}

func (f *follower) Write(text []byte) (int, error) {
	f.part = append(f.part, text...)
	for {
		line, rest, ok := bytes.Cut(f.part, []byte("\n"))
		if !ok {
			return len(text), nil
		}
		f.part = rest
		if words := strings.Join(strings.Fields(string(line)), " "); strings.HasPrefix(words, "[") {
			f.line(strings.ReplaceAll(words, Benchmark+":", ""))
		}
	}
}

// Workspace is where the experiment is.
type Workspace struct {
	Temporary string // directory, removed at the end
	Path      string // of the configuration
	Files     string // see Plan.Files
	Saved     bool
}

// NewWorkspace makes a temporary directory, and checks that the name of --save is free; "": none.
func NewWorkspace(p Plan, save string) (Workspace, error) {
	temporary, err := os.MkdirTemp("", "krunctl-time-")
	if err != nil {
		return Workspace{}, err
	}
	w := Workspace{Temporary: temporary, Path: filepath.Join(temporary, "time.toml")}
	links := filepath.Join(temporary, "files")
	if save != "" {
		w.Saved = true
		name := strings.TrimSuffix(save, ".toml")
		if err = key.CheckName(filepath.Base(name)); err != nil {
			err = experiment.Usage(fmt.Errorf("--save: %w", err))
		}
		w.Path, _ = filepath.Abs(name + ".toml") // the plan has the same working directory
		links = strings.TrimSuffix(w.Path, ".toml") + ".files"
		for _, path := range []string{w.Path, experiment.DirectoryOf(w.Path), links} {
			if _, statErr := os.Lstat(path); !errors.Is(statErr, fs.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("--save %s: %s exists; choose another name", save, path))
			}
		}
	}
	for _, s := range p.Subjects {
		if err != nil || s.IsCommand() {
			continue
		}
		w.Files = links
		if err = os.MkdirAll(filepath.Join(links, Benchmark), 0o755); err == nil {
			err = os.Symlink(filepath.Dir(s.File), filepath.Join(links, Benchmark, s.Name))
		}
	}
	if err != nil {
		w.Remove()
	}
	return w, err
}

// Remove removes the temporary directory.
func (w Workspace) Remove() { _ = os.RemoveAll(w.Temporary) }

// FindPrograms looks the VMs up in the caller's PATH, where an activated virtual environment has
// its own. krund, which does not, reports those that are not found.
func FindPrograms(subjects []Subject) {
	for i := range subjects {
		s := &subjects[i]
		if s.Program == "" {
			continue
		}
		if path, err := exec.LookPath(s.Program); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				s.Program = path
			}
		}
	}
}

// KrundPath returns krund's path: beside krunctl, else in PATH.
func KrundPath() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "krund")
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath("krund")
	if err != nil {
		return "", errors.New("krund, which measures, is neither beside krunctl nor in PATH; install both")
	}
	return path, nil
}

// Runners returns the directory of krund's runners, which is installed with it; "runners" if krund
// is not found.
func Runners() string {
	krund, err := KrundPath()
	if err != nil {
		return "runners"
	}
	return filepath.Join(filepath.Dir(filepath.Dir(krund)), "libexec/krund")
}
