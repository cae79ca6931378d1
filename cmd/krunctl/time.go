package main

import (
	"context"
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

const timeHelp = `Time says which of some commands or benchmark files is faster, and by how much. It
needs no configuration, no directory and no root: it writes a temporary experiment,
starts krund on it, and analyzes the result.

An argument is a whole command, or a benchmark file of krund (.py, .js, .lua, .rb,
.php, .class, .so) that has a function run_iter. A whole command is timed from just
before its process is made until its end, again and again. Of a benchmark file the
iterations within a process are timed, and the mean is that of the steady state.

Process executions alternate between the arguments, in a random order in each round,
so that what changes on the machine meets all of them. The interval of a ratio comes
from the differences within the rounds.

Everything runs as it would for you: with your environment, directory (benchmark files:
their own), umask, limits and priority. A command reads nothing, and its output is
discarded. --clean gives it the environment of an experiment instead, which is the same
for everyone: PATH, HOME and a few more variables, and those of --env.

A shell starts whole commands. Its own time is measured beside them and subtracted. What
takes less time than that varies is "too short to tell"; -N starts commands without a
shell.

Setup, prepare, conclude and cleanup run outside of what is timed: prepare and conclude
around each run, setup and cleanup around each process execution, which makes several
runs of a command.

--save keeps the experiment for krunctl report, analyze and the others.

EXAMPLES
  krunctl time 'sleep 0.1' 'sleep 0.11'
  krunctl time 'LC_ALL=C sort words' 'sort words'
  krunctl time -N --warmup 3 'gzip -k words' 'xz -k words' --prepare 'rm -f words.?z'
  krunctl time -P n 1 4 'make -j {n}' --prepare 'make clean'
  krunctl time bench.py --vm python3 --vm pypy3 --iterations 200
  krunctl time --save sort './sort old' './sort new'

EXIT STATUS
  0  everything ran
  1  a command failed, or something could not be done
  2  wrong usage`

// timeOptions are the flags of time.
type timeOptions struct {
	ignoreFailure, noShell   bool
	clean                    bool
	shell, save, format      string
	markdown                 string
	setup, conclude, cleanup string
	prepare, vms, env        []string
	scans, lists, steps      []string
	runs, minRuns, warmup    int
	iterations, parameter    int
	timeout                  string
}

func timeCommand(a *app) *cobra.Command {
	var o timeOptions
	c := &cobra.Command{
		Use:   "time COMMAND|FILE...",
		Short: "Time commands or benchmark files, and compare them",
		Long:  timeHelp,
		Args:  arguments(1, 1000, "commands or benchmark files"),
		RunE: func(c *cobra.Command, args []string) error {
			ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
			if !signal.Ignored(syscall.SIGHUP) { // as after nohup, for the commands, too
				ends = append(ends, syscall.SIGHUP)
			}
			ctx, stop := signal.NotifyContext(contextOf(c), ends...)
			defer stop()
			return a.time(ctx, args, o)
		},
	}
	o.flags(c.Flags())
	c.SetFlagErrorFunc(timeFlagError)
	return c
}

func (o *timeOptions) flags(f *pflag.FlagSet) {
	f.IntVarP(&o.runs, "runs", "r", 0, "at least this many runs of each command, over at most 10 process "+
		"executions; process executions of a benchmark file (default by time: 2 s, or 5 s)")
	f.IntVarP(&o.minRuns, "min-runs", "m", 10, "the fewest runs of a command when the time decides")
	f.IntVarP(&o.warmup, "warmup", "w", 0,
		"runs of a command before those that are timed, in each execution")
	f.IntVar(&o.iterations, "iterations", 0, "iterations in each process execution of a benchmark file")
	f.IntVar(&o.parameter, "parameter", 1, "argument of run_iter")
	f.StringArrayVar(&o.vms, "vm", nil, "program that runs the benchmark files of its language; repeatable")
	f.StringVarP(&o.setup, "setup", "s", "", "shell command before each process execution")
	f.StringArrayVarP(&o.prepare, "prepare", "p", nil,
		"shell command before each run; once for all commands, or once for each")
	f.StringVarP(&o.conclude, "conclude", "C", "", "shell command after each run")
	f.StringVarP(&o.cleanup, "cleanup", "c", "", "shell command after each process execution")
	f.StringArrayVarP(&o.scans, "parameter-scan", "P", nil,
		"VAR MIN MAX: time each command with {VAR} replaced by each number; repeatable")
	f.StringArrayVarP(&o.steps, "parameter-step-size", "D", nil, "step of the scan before it (default 1)")
	f.StringArrayVarP(&o.lists, "parameter-list", "L", nil, "VAR A,B,C: the same with each of these values")
	f.StringVarP(&o.shell, "shell", "S", "sh", "shell that starts commands, with its options; or none")
	f.BoolVarP(&o.noShell, "no-shell", "N", false, "start commands without a shell: --shell none")
	f.BoolVarP(&o.ignoreFailure, "ignore-failure", "i", false, "count runs that end with an error")
	f.BoolVar(&o.clean, "clean", false, "the environment of an experiment instead of yours")
	f.StringArrayVar(&o.env, "env", nil,
		"NAME=VALUE: set this variable, or with --clean NAME: pass yours on; repeatable")
	f.StringVar(&o.timeout, "timeout", "",
		"longest time of one process execution, such as 30s (default none)")
	f.StringVar(&o.save, "save", "", "keep the experiment as NAME.toml and NAME.krun")
	choiceFlag(f, &o.format, "format", "", "what to print", "text", "markdown", "json")
	f.StringVar(&o.markdown, "export-markdown", "", "also write a table in Markdown to this file")
	f.Lookup("export-markdown").Hidden = true // as in hyperfine
}

// parameters returns the scans and lists.
func (o *timeOptions) parameters() ([]trial.Parameter, error) {
	var all []trial.Parameter
	for i, text := range o.scans {
		words := strings.Fields(text)
		if len(words) != 3 {
			return nil, fmt.Errorf("--parameter-scan needs VAR MIN MAX, not %q", text)
		}
		step := "1"
		if i < len(o.steps) {
			step = o.steps[i]
		}
		p, err := trial.Scan(words[0], words[1], words[2], step)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(o.steps) > len(o.scans) {
		return nil, fmt.Errorf("--parameter-step-size needs --parameter-scan")
	}
	for _, text := range o.lists {
		name, values, ok := strings.Cut(text, " ")
		if !ok || name == "" || values == "" {
			return nil, fmt.Errorf("--parameter-list needs VAR A,B,C, not %q", text)
		}
		all = append(all, trial.Parameter{Name: name, Values: strings.Split(values, ",")})
	}
	return all, nil
}

// plan returns the plan of the arguments, without its schedule.
func (o *timeOptions) plan(args []string) (trial.Plan, error) {
	p := trial.Plan{Warmup: o.warmup, Parameter: o.parameter, IgnoreFailure: o.ignoreFailure, Clean: o.clean,
		Runs: o.runs, Least: o.minRuns, OfFile: o.iterations, Seed: rand.Uint64()}
	for flag, n := range map[string]int{"--runs": o.runs, "--min-runs": o.minRuns - 1, "--warmup": o.warmup,
		"--iterations": o.iterations} {
		const most = 1_000_000 // what the runner accepts, and far more than anyone waits for
		if n < 0 || n > most {
			return p, fmt.Errorf("%s must be a positive number, up to %d", flag, most)
		}
	}
	shell := append(strings.Fields(o.shell), "-c")
	if o.noShell || o.shell == "none" || len(shell) == 1 {
		shell = nil
	}
	parameters, err := o.parameters()
	if err != nil {
		return p, err
	}
	p.Subjects, err = trial.Subjects(args, trial.SubjectOptions{Shell: shell, VMs: o.vms,
		Parameters: parameters, Setup: o.setup, Prepare: o.prepare, Conclude: o.conclude, Cleanup: o.cleanup})
	if err != nil {
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
	if err = o.checkQuotes(args, p); err != nil {
		return p, err
	}
	p.Env, p.Inherited = o.environment()
	if !o.clean {
		trial.FindPrograms(p.Subjects)
	}
	p.Dir, err = os.Getwd()
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
	work, err := trial.NewWorkspace(p, o.save)
	if err != nil {
		return err
	}
	defer work.Remove()
	line := console.NewProgress(a.stderr, a.now, "")
	defer line.Clear()
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
	if work.Saved {
		answer.Directory = experiment.DirectoryOf(work.Path)
	}
	return a.printAnswer(answer, o)
}

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
	case o.format == "json":
		if err := a.printJSON(answer); err != nil {
			return err
		}
	case o.format == "markdown":
		a.print("%s", console.Markdown(answer))
	default:
		a.console().Answer(answer)
	}
	failed := func(r trial.Result) bool { return r.Failed > 0 }
	if slices.ContainsFunc(answer.Subjects, failed) {
		return errFound
	}
	return nil
}

// environment returns the variables that commands get beside those of the caller, or in a clean
// environment beside the usual ones: PATH, so that programs are found as in this shell, and those
// of --env. The names are those of the caller's variables.
func (o *timeOptions) environment() (set, names []string) {
	wanted := o.env
	if o.clean {
		wanted = append([]string{"PATH"}, wanted...)
	}
	for _, v := range wanted {
		name, _, given := strings.Cut(v, "=")
		value, known := os.LookupEnv(name)
		switch {
		case given:
			set = append(set, v)
		case known && o.clean:
			set = append(set, name+"="+value)
		}
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return set, names
}
