package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// Measure runs the subjects: as often as the plan says, or until their times are known well enough.
// It completes the plan. Commands in turns are measured in stages, with a look after each; one run
// of each comes first, to learn how long it takes. What belongs to a process has a fixed number of
// executions, which follows from that run.
func (r Runner) Measure(ctx context.Context, p *Plan, w Workspace) (*dataset.Dataset, error) {
	p.Files, p.Saved = w.Files, w.Saved
	r.Line(fmt.Sprintf("timing %s", display.Count(len(p.Subjects), "command")))
	var one []time.Duration // how long a run took, unless the options decide how many there are
	var err error
	if !p.decided() {
		if one, err = r.pilot(ctx, *p, filepath.Join(w.Temporary, "pilot.toml")); err != nil {
			return nil, err
		}
	}
	p.schedule(one)
	all, err := r.Run(ctx, *p, w.Path)
	if err != nil || p.decided() || !p.turns() {
		return all, err
	}
	for p.Looked = true; ; {
		more := p.more(one)
		if more == 0 || p.precise(all) {
			return all, nil
		}
		stage := *p
		stage.Executions, stage.Warmup, stage.Seed = more, 0, p.Seed+uint64(p.Executions)
		runs := display.Count(p.Executions*slices.Min(p.Iterations), "run")
		r.Line(fmt.Sprintf("at least %s of each, and more", runs))
		next, err := r.Run(ctx, stage, w.Path)
		if err != nil {
			return nil, err
		}
		join(all, next, p.Executions)
		p.Executions += more
	}
}

// join adds the rounds of a later stage, whose numbers follow those before.
func join(all, next *dataset.Dataset, before int) {
	for _, pair := range next.Pairs {
		for _, e := range pair.Executions {
			e.Number += before
			all.Add(pair.Key, e)
		}
	}
}

// pilot runs each subject once, with the configuration path, and returns how long a run took.
func (r Runner) pilot(ctx context.Context, p Plan, path string) ([]time.Duration, error) {
	const few = 3 // iterations of a benchmark file
	p.Executions, p.Calibrate, p.Iterations, p.Saved = 1, nil, make([]int, len(p.Subjects)), false
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
		executions := find(data, p.Key(s))
		if len(executions) == 0 || executions[0].Outcome != results.Completed {
			failed = errors.Join(failed, fmt.Errorf("%s: %s", s.Text, firstReason(executions)))
			continue
		}
		values, _ := executions[0].Values(dataset.Wall)
		one[i] = time.Duration(values[len(values)-1] * float64(time.Second))
		r.Line(fmt.Sprintf("%s: about %s", s.Text, display.Nanoseconds(float64(one[i]))))
	}
	return one, failed
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
func messages(record *results.Record) string {
	const most = 5 // lines
	var lines []string
	for line := range strings.Lines(record.Process.Stderr.Text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "runner: ") {
			lines = append(lines, "\n    "+line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "")
}

// Run writes a plan's configuration to path, lets krund run it and reads the results: from the
// experiment's directory if it is kept, else from what krund prints. That executions failed is in
// the data; of commands in turns it is the error.
func (r Runner) Run(ctx context.Context, p Plan, path string) (*dataset.Dataset, error) {
	if err := os.WriteFile(path, []byte(p.TOML()), 0o644); err != nil {
		return nil, fmt.Errorf("write the experiment: %w", err)
	}
	const days = 365 * 24 * time.Hour
	var records bytes.Buffer
	c := command.Cmd{ // it gets this environment, unchanged
		Argv: []string{r.Krund, "measure", path}, Timeout: days, Tee: &records, StdoutOnly: true, Output: 1,
		Interrupt: true, WithParent: syscall.SIGUSR1,
	}
	if p.Saved {
		c.Argv[1], c.Tee, c.Output = "run", &follower{line: r.Line}, 0
	}
	_, failed := command.Run(ctx, c)
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	data, err := r.read(p, path, &records)
	switch {
	case failed != nil && (err != nil || len(data.Pairs) == 0): // krund says why
		return nil, failed
	case err != nil:
		return nil, err
	}
	return data, nil
}

// read returns the results of a plan.
func (r Runner) read(p Plan, path string, records io.Reader) (*dataset.Dataset, error) {
	if p.Saved {
		return experiment.ReadResults(r.FS, filepath.Join(experiment.DirectoryOf(path), "results"), nil)
	}
	d := &dataset.Dataset{}
	for in := json.NewDecoder(records); ; {
		var record results.Record
		if err := in.Decode(&record); errors.Is(err, io.EOF) {
			return d, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what krund has measured: %w", err)
		}
		d.Machine = record.Host
		e := experiment.Execution(&record, nil)
		if e.Loop = nil; p.Command(record.Key) {
			e.FirstResult = 0 // before it, the process runs other commands
		}
		if e.Outcome != results.Completed && len(e.Reasons) > 0 {
			e.Reasons[0] += messages(&record)
		}
		if record.Key != turnsKey {
			d.Add(record.Key, e)
			continue
		}
		if err := p.split(d, e); err != nil {
			return nil, err
		}
	}
}

// split adds the runs of programs in turns to a data set: each round is an execution of each
// program, with its runs. The error is that of a program that failed.
func (p Plan) split(d *dataset.Dataset, e dataset.Execution) error {
	if e.Outcome != results.Completed {
		reason := firstReason([]dataset.Execution{e})
		for _, s := range p.programs() {
			if rest, ok := strings.CutPrefix(reason, s.Name+": "); ok {
				first, output, more := strings.Cut(rest, "\n")
				if strings.HasPrefix(first, "the command ended with exit status") {
					first += "; nothing is compared. --ignore-failure counts such runs, too"
				}
				if more {
					first += "\n" + output
				}
				return fmt.Errorf("%s: %s", s.Text, first)
			}
		}
		return errors.New(reason)
	}
	programs, round := p.programs(), 0
	for _, n := range p.perRound() {
		round += n
	}
	which := make([]float64, round*p.Executions) // one program has no column
	if len(programs) > 1 {
		which, _ = e.Values("command")
	}
	if round*p.Executions != len(which) {
		return fmt.Errorf("krund measured %d runs, not %d", len(which), round*p.Executions)
	}
	for number := range p.Executions {
		for i, s := range programs {
			var runs []int
			for j := number * round; j < (number+1)*round; j++ {
				if int(which[j]) == i {
					runs = append(runs, j)
				}
			}
			part := dataset.Execution{Number: number + 1, Outcome: e.Outcome, Reasons: e.Reasons}
			for _, c := range e.Columns {
				part.Columns = append(part.Columns, choose(c, runs))
			}
			k := p.Key(s)
			if s.Name == shellName {
				k = shellKey()
			}
			d.Add(k, part)
		}
	}
	return nil
}

// choose returns the values of a column at these iterations.
func choose(c dataset.Column, at []int) dataset.Column {
	part := dataset.Column{Name: c.Name, Unit: c.Unit, Core: c.Core}
	for _, i := range at {
		switch {
		case c.Reals != nil:
			part.Reals = append(part.Reals, c.Reals[i])
		case c.Ints != nil:
			part.Ints = append(part.Ints, c.Ints[i])
		default:
			part.Counts = append(part.Counts, c.Counts[i])
		}
	}
	return part
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
