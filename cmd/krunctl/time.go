package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/experiment/config"
	"krund/internal/reading/experiment"
	"krund/internal/report/console"
	"krund/internal/trial"
)

// timeOptions are the flags of time.
type timeOptions struct {
	trial.Plan
	subjects                 trial.SubjectOptions
	noShell, showOutput      bool
	shell, save, format      string
	markdown, csv, json      string
	reference, input, output string
	sort                     string
	revisions                trial.Revisions
	env, scans, lists, steps []string
	timeout                  string
}

func timeCommand(a *app) *cobra.Command {
	var o timeOptions
	c := &cobra.Command{
		Use:   "time COMMAND|FILE...",
		Short: "Time commands or benchmark files, and compare them",
		Args:  arguments(1, 1000, "commands or benchmark files"),
		RunE: func(c *cobra.Command, args []string) error {
			ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
			if !signal.Ignored(syscall.SIGHUP) { // as after nohup, for the commands, too
				ends = append(ends, syscall.SIGHUP)
			}
			ctx, stop := signal.NotifyContext(c.Context(), ends...)
			defer stop()
			return a.time(ctx, args, o)
		},
	}
	o.flags(c.Flags())
	c.SetFlagErrorFunc(timeFlagError)
	return c
}

func (o *timeOptions) flags(f *pflag.FlagSet) {
	f.IntVarP(&o.Runs, "runs", "r", 0, "runs of each command, and process executions of a benchmark file "+
		"(default: until the answer is precise enough)")
	f.IntVarP(&o.Least, "min-runs", "m", 10, "the fewest runs of a command without --runs")
	f.IntVarP(&o.Most, "max-runs", "M", 0, "the most runs of a command without --runs")
	f.StringArrayVarP(&o.subjects.Names, "command-name", "n", nil,
		"name of the next command in the output; repeatable")
	f.StringVar(&o.reference, "reference", "", "command that the others are compared with "+
		"(default the fastest)")
	f.StringVar(&o.input, "input", "null", "file that the commands read, or null")
	f.StringVar(&o.output, "output", "null",
		"where they print: null, pipe (which is read), inherit, or a file")
	f.BoolVar(&o.showOutput, "show-output", false, "show what the commands print")
	f.IntVarP(&o.Warmup, "warmup", "w", 0,
		"runs of a command before those that are timed, in each execution")
	f.IntVar(&o.OfFile, "iterations", 0, "iterations in each process execution of a benchmark file")
	f.IntVar(&o.Parameter, "parameter", 0, "argument of run_iter (default 1)")
	f.StringArrayVar(&o.subjects.VMs, "vm", nil,
		"program that runs the benchmark files of its language; repeatable")
	f.StringVarP(&o.subjects.Setup, "setup", "s", "", "shell command before each process execution")
	f.StringArrayVarP(&o.subjects.Prepare, "prepare", "p", nil,
		"shell command before each run; once for all commands, or once for each")
	f.StringVarP(&o.subjects.Conclude, "conclude", "C", "", "shell command after each run")
	f.StringVarP(&o.subjects.Cleanup, "cleanup", "c", "", "shell command after each process execution")
	f.StringArrayVarP(&o.scans, "parameter-scan", "P", nil,
		"VAR MIN MAX: time each command with {VAR} replaced by each number; repeatable")
	f.StringArrayVarP(&o.steps, "parameter-step-size", "D", nil, "step of the scan before it (default 1)")
	f.StringArrayVarP(&o.lists, "parameter-list", "L", nil, "VAR A,B,C: the same with each of these values")
	f.StringVarP(&o.shell, "shell", "S", "sh", "shell that starts commands, with its options; or none")
	f.BoolVarP(&o.noShell, "no-shell", "N", false, "start commands without a shell: --shell none")
	f.BoolVarP(&o.IgnoreFailure, "ignore-failure", "i", false, "count runs that end with an error")
	f.BoolVar(&o.Clean, "clean", false, "the environment of an experiment instead of yours")
	f.StringArrayVar(&o.env, "env", nil,
		"NAME=VALUE: set this variable, or with --clean NAME: pass yours on; repeatable")
	f.StringVar(&o.timeout, "timeout", "",
		"longest time of one process execution, such as 30s (default none)")
	f.StringVar(&o.save, "save", "", "keep the experiment as NAME.toml and NAME.krun")
	choiceFlag(f, &o.format, "format", "", "what to print", "text", "markdown", "json")
	f.StringSliceVar(&o.revisions.Names, "revisions", nil, "A,B: the command in these git revisions, each "+
		"built in a worktree of its own")
	f.StringVar(&o.revisions.Build, "build", "", "shell command that builds a revision")
	f.StringVar(&o.revisions.Go, "go", "", "benchmarks of a Go package in the revisions, a pattern")
	choiceFlag(f, &o.sort, "sort", "", "order of the results", "auto", "command", "mean-time")
	f.StringVar(&o.json, "export-json", "", "also write hyperfine's JSON to this file")
	f.StringVar(&o.csv, "export-csv", "", "also write hyperfine's CSV to this file")
	f.StringVar(&o.markdown, "export-markdown", "", "also write a table in Markdown to this file")
	f.Lookup("export-markdown").Hidden = true // as in hyperfine
}

// plan returns the plan of the arguments, without its schedule.
func (o *timeOptions) plan(args []string) (trial.Plan, error) {
	p := o.Plan
	p.Parameter, p.Guessed, p.Seed = cmp.Or(o.Parameter, 1), o.Parameter == 0, rand.Uint64()
	for flag, n := range map[string]int{"--runs": p.Runs, "--min-runs": p.Least - 1, "--max-runs": p.Most,
		"--warmup": p.Warmup, "--iterations": p.OfFile} {
		const most = 1_000_000 // what the runner accepts, and far more than anyone waits for
		if n < 0 || n > most {
			return p, fmt.Errorf("%s must be a positive number, up to %d", flag, most)
		}
	}
	shell := append(strings.Fields(o.shell), "-c")
	if o.noShell || o.shell == "none" || len(shell) == 1 {
		shell = nil
	}
	parameters, err := trial.Parameters(o.scans, o.steps, o.lists)
	if err != nil {
		return p, err
	}
	if o.revisions.Names == nil && o.revisions.Build+o.revisions.Go != "" {
		return p, fmt.Errorf("--build and --go are about git revisions: name them, as in " +
			"--revisions main,HEAD")
	}
	if o.showOutput {
		o.output = "inherit"
	}
	if err := p.SetFiles(o.input, o.output); err != nil {
		return p, err
	}
	if o.showOutput {
		p.Messages = fmt.Sprintf("/proc/%d/fd/2", os.Getpid())
	}
	if p.Referred = o.reference != ""; p.Referred {
		args = append([]string{o.reference}, args...)
	}
	subjects := o.subjects
	subjects.Shell, subjects.Parameters, subjects.Referred = shell, parameters, p.Referred
	if p.Subjects, err = trial.Subjects(args, subjects); err != nil {
		return p, err
	}
	for _, s := range p.Subjects {
		if s.IsCommand() && shell != nil {
			p.Calibrate = append(slices.Clone(shell), "")
		}
	}
	if o.timeout != "" {
		if p.Timeout, err = config.ParseDuration(o.timeout); err != nil || p.Timeout < time.Millisecond {
			return p, fmt.Errorf(`--timeout must be a duration such as 30s, not %q`, o.timeout)
		}
	}
	if err = p.CheckQuotes(args); err != nil {
		return p, err
	}
	p.SetEnvironment(os.Environ(), o.env)
	if !p.Clean {
		trial.FindPrograms(p.Subjects)
	}
	if p.Dir, err = os.Getwd(); err == nil && o.revisions.Names != nil {
		err = o.revisions.Check(p)
	}
	return p, err
}

// time is `krunctl time`.
func (a *app) time(ctx context.Context, args []string, o timeOptions) error {
	p, err := o.plan(args)
	if err != nil {
		return usageError(err)
	}
	if o.save != "" {
		if err := needsDirectory(o.save); err != nil {
			return usageError(fmt.Errorf("--save: %w", err))
		}
	}
	for _, file := range []string{o.json, o.csv, o.markdown} {
		if err := canWrite(file); err != nil {
			return usageError(err)
		}
	}
	work, err := trial.NewWorkspace(p, o.save)
	if err != nil {
		return err
	}
	defer work.Remove()
	line := console.NewProgress(a.stderr, a.now, "")
	defer line.Clear()
	if v := o.revisions; len(v.Names) > 0 {
		remove, err := v.Checkout(ctx, &p, args[0], work.Temporary, line.Line)
		defer remove()
		if err != nil {
			return err
		}
	}
	r := trial.Runner{FS: a.fsys, Line: line.Line}
	if r.Krund, err = trial.KrundPath(); err != nil {
		return err
	}
	data, err := r.Measure(ctx, &p, work)
	line.Clear()
	if err != nil {
		return err
	}
	answer, err := trial.AnswerOf(p, data)
	if err != nil {
		return err
	}
	answer.Machine = a.host
	answer.Sort(o.sort == "mean-time")
	if work.Saved {
		answer.Directory = experiment.DirectoryOf(work.Path)
	}
	return a.printAnswer(answer, o)
}

// printAnswer prints an answer, and returns errFound if something failed.
func (a *app) printAnswer(answer trial.Answer, o timeOptions) error {
	stdout := false
	markdown := func(w io.Writer) error { return console.Markdown(w, answer) }
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{{o.markdown, markdown}, {o.json, answer.HyperfineJSON}, {o.csv, answer.HyperfineCSV}} {
		if out.path == "" {
			continue
		}
		if err := a.toOutput(out.path, out.write); err != nil {
			return err
		}
		stdout = stdout || isStdout(out.path)
	}
	switch {
	case stdout: // it has the results
	case o.format == "json":
		if err := a.printJSON(answer); err != nil {
			return err
		}
	case o.format == "markdown":
		if err := markdown(a.stdout); err != nil {
			return err
		}
	default:
		a.console().Answer(answer)
	}
	failed := func(r trial.Timing) bool { return r.Failed > 0 }
	if slices.ContainsFunc(answer.Subjects, failed) {
		return errFound
	}
	return nil
}

// valuesOf are the options that hyperfine's users write with several values.
var valuesOf = map[string]int{"-P": 3, "--parameter-scan": 3, "-L": 2, "--parameter-list": 2}

// joinValues turns "-P n 1 4" of `krunctl time` into "-P=n 1 4": a flag of package pflag has one
// value.
func joinValues(args []string) []string {
	if len(args) == 0 || args[0] != "time" {
		return args
	}
	var joined []string
	for i := 0; i < len(args); i++ {
		n, ok := valuesOf[args[i]]
		switch {
		case args[i] == "--":
			return append(joined, args[i:]...)
		case ok && i+n < len(args):
			joined = append(joined, args[i]+"="+strings.Join(args[i+1:i+1+n], " "))
			i += n
		default:
			joined = append(joined, args[i])
		}
	}
	return joined
}

// timeFlagError adds to the error of an unknown flag how a command with options is written:
// `krunctl time ls -l` has none in quotes.
func timeFlagError(c *cobra.Command, err error) error {
	words, unknown := c.Flags().Args(), (*pflag.NotExistError)(nil)
	if errors.As(err, &unknown) && len(words) > 0 && trial.SingleWords(words) {
		flag := "--" + unknown.GetSpecifiedName()
		if s := unknown.GetSpecifiedShortnames(); s != "" {
			flag = "-" + s
		}
		err = fmt.Errorf("%w; if it belongs to %s, quote the command: %s", err, words[0],
			trial.Quoted(append(slices.Clone(words), flag)))
	}
	return c.Parent().FlagErrorFunc()(c, err)
}
