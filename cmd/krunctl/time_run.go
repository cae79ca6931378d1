package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"krund/internal/analysis/dataset"
	"krund/internal/display"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/internal/machine/command"
	"krund/internal/reading/experiment"
	"krund/internal/report/console"
	"krund/internal/trial"
)

// time is `krunctl time`: a short experiment to learn how long one run takes, unless the options
// say how many there are, and then the one that counts.
func (a *app) time(ctx context.Context, args []string, o timeOptions) error {
	p, err := o.plan(args)
	if err != nil {
		return usageError(err)
	}
	work, err := newWorkspace(p, o.save)
	if err != nil {
		return err
	}
	defer work.remove()
	p.Files = work.files
	line := newProgressBar(a, "")
	defer line.clear()
	one, err := a.pilot(ctx, p, o, work, line)
	if err != nil {
		return err
	}
	o.schedule(&p, one)
	data, err := a.experiment(ctx, p, work.path, line)
	line.clear()
	if err != nil {
		return err
	}
	answer, err := trial.AnswerOf(p, data)
	if err != nil {
		return err
	}
	answer.Machine = a.host
	if work.saved {
		answer.Directory = experiment.DirectoryOf(work.path)
	}
	return a.printAnswer(answer, o)
}

// schedule decides how often each subject runs.
func (o *timeOptions) schedule(p *trial.Plan, one []time.Duration) {
	least := o.minRuns
	if o.runs > 0 {
		least = o.runs
		for _, s := range p.Subjects {
			if !s.IsCommand() {
				p.Executions = o.runs
			}
		}
	}
	p.Schedule(one, least, o.iterations)
}

// pilot runs each subject once and returns how long a run took: nil if the options decide how many
// runs there are.
func (a *app) pilot(ctx context.Context, p trial.Plan, o timeOptions, work workspace,
	line *progressBar) ([]time.Duration, error) {
	decided := o.runs > 0
	for _, s := range p.Subjects {
		if !s.IsCommand() {
			decided = decided && o.iterations > 0
		}
	}
	if decided {
		return nil, nil
	}
	const few = 3 // iterations of a benchmark file
	p.Executions, p.Calibrate, p.Iterations = 1, nil, make([]int, len(p.Subjects))
	for i, s := range p.Subjects {
		p.Iterations[i] = few
		if s.IsCommand() {
			p.Iterations[i] = 1
		}
	}
	path := filepath.Join(work.temporary, "pilot.toml")
	data, err := a.experiment(ctx, p, path, line)
	if err != nil {
		return nil, err
	}
	one := make([]time.Duration, len(p.Subjects))
	var failed error
	for i, s := range p.Subjects {
		executions := executionsOf(data, p, s)
		if len(executions) == 0 || executions[0].Outcome != dataset.Completed {
			failed = errors.Join(failed, fmt.Errorf("%s: %s%s", s.Text, firstReason(executions),
				a.messages(path, p.Key(s))))
			continue
		}
		values, _ := executions[0].Values(dataset.Wall)
		one[i] = time.Duration(values[len(values)-1] * float64(time.Second))
		line.write(fmt.Sprintf("%s: about %s", s.Text, display.Nanoseconds(float64(one[i]))))
	}
	return one, failed
}

func executionsOf(d *dataset.Dataset, p trial.Plan, s trial.Subject) []dataset.Execution {
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
func (a *app) messages(path string, k key.Key) string {
	const most = 5 // lines
	var lines []string
	reader := results.NewReader(a.fsys, filepath.Join(experiment.DirectoryOf(path), "results"))
	for r, err := range reader.All() {
		if err != nil || r.Key != k || r.Outcome == results.Completed {
			continue
		}
		for line := range strings.Lines(r.Process.Stderr.Text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "runner: ") {
				lines = append(lines, "\n    "+line)
			}
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// experiment writes a plan's configuration, lets krund run it and reads the results. That
// executions failed is in the data.
func (a *app) experiment(ctx context.Context, p trial.Plan, path string,
	line *progressBar) (*dataset.Dataset, error) {
	krund, err := krundPath()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(p.TOML()), 0o644); err != nil {
		return nil, fmt.Errorf("write the experiment: %w", err)
	}
	const days = 365 * 24 * time.Hour
	_, failed := command.Run(ctx, command.Cmd{
		Argv: []string{krund, "run", path}, Timeout: days, // it gets this environment, unchanged
		Tee: &follower{line: line}, StdoutOnly: true, Interrupt: true, WithParent: syscall.SIGHUP,
	})
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	data, err := experiment.ReadResults(a.fsys, filepath.Join(experiment.DirectoryOf(path), "results"), nil)
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
	line *progressBar
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
			f.line.write(strings.ReplaceAll(words, trial.Benchmark+":", ""))
		}
	}
}

// workspace is where the experiment is.
type workspace struct {
	temporary string // directory, removed at the end
	path      string // of the configuration
	files     string // see trial.Plan.Files
	saved     bool
}

// newWorkspace makes a temporary directory, and checks that the name of --save is free.
func newWorkspace(p trial.Plan, save string) (workspace, error) {
	temporary, err := os.MkdirTemp("", "krunctl-time-")
	if err != nil {
		return workspace{}, err
	}
	w := workspace{temporary: temporary, path: filepath.Join(temporary, "time.toml")}
	links := filepath.Join(temporary, "files")
	if save != "" {
		w.saved = true
		name := strings.TrimSuffix(save, ".toml")
		if err = errors.Join(key.CheckName(filepath.Base(name)), needsDirectory(save)); err != nil {
			err = usageError(fmt.Errorf("--save: %w", err))
		}
		w.path, _ = filepath.Abs(name + ".toml") // the plan has the same working directory
		links = strings.TrimSuffix(w.path, ".toml") + ".files"
		for _, path := range []string{w.path, experiment.DirectoryOf(w.path), links} {
			if _, statErr := os.Lstat(path); !errors.Is(statErr, fs.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("--save %s: %s exists; choose another name", save, path))
			}
		}
	}
	for _, s := range p.Subjects {
		if err != nil || s.IsCommand() {
			continue
		}
		w.files = links
		if err = os.MkdirAll(filepath.Join(links, trial.Benchmark), 0o755); err == nil {
			err = os.Symlink(filepath.Dir(s.File), filepath.Join(links, trial.Benchmark, s.Name))
		}
	}
	if err != nil {
		w.remove()
	}
	return w, err
}

func (w workspace) remove() { _ = os.RemoveAll(w.temporary) } // a temporary directory

// printAnswer prints an answer, and returns errFound if something failed.
func (a *app) printAnswer(answer trial.Answer, o timeOptions) error {
	if o.markdown != "" {
		err := a.toOutput(o.markdown, func(w io.Writer) error {
			_, err := io.WriteString(w, console.Markdown(answer))
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case isStdout(o.markdown): // which has the table
	case o.json:
		if err := a.printJSON(answer); err != nil {
			return err
		}
	default:
		a.console().Answer(answer)
	}
	failed := func(r trial.Result) bool { return r.Failed > 0 }
	if slices.ContainsFunc(answer.Subjects, failed) {
		return errFound
	}
	return nil
}
