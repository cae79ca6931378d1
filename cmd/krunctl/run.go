package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"krund/internal/display"
	"krund/internal/reading/experiment"
	"krund/internal/trial"
)

const runHelp = `Run measures an experiment in this terminal: it starts krund, which runs what is
outstanding, an execution after another, and can be stopped with Ctrl-C and started
again at any time. It never restarts the machine: for an experiment that does, use
krunctl enable, or say --reboot none, or --quick for a first look.

A larger number of executions in the file, or another benchmark, VM, variant or arm,
is added to what was measured; docs/extend.md says how. --executions +15 does so: it
writes 15 more into the file, in place of the present number, and measures them. It is
for an experiment that has ended: repeated after an interruption, it says what is
outstanding and adds nothing.

--again runs finished slots once more: after a benchmark was repaired, or a limit turned
out to be wrong for one VM. --outcome, --slot and --key select them; of several, all must
apply. Their records are kept as results/SLOT-ATTEMPT.json.gz.replaced, which no command
takes for a result. Attempts are counted on, and each slot has experiment.attempts new
ones. If the power fails meanwhile, krund completes the request at its next start. An
experiment that restarts the machine runs them after "krunctl enable".

EXAMPLES
  krunctl run bench.toml
  krunctl run --quick bench.toml           one short execution of each key
  krunctl run --reboot none warmup.toml    without the restarts that it asks for
  krunctl run bench.toml --executions +15  15 more executions of each key
  krunctl run --again --outcome error,timeout warmup.toml
  krunctl run --again --key 'nbody:*:*' --dry-run warmup.toml

EXIT STATUS
  0    nothing is outstanding, or the experiment is held or was stopped; nothing failed
  1    the experiment stopped; the message says what to do
  2    wrong usage, or a mistake in the configuration
  4    the experiment has ended or was stopped, and process executions failed
  130  interrupted`

// startKrund starts krund, which is beside krunctl: it becomes krund, or waits for its end.
func startKrund(args []string, wait bool) error {
	path, err := trial.KrundPath()
	if err != nil {
		return err
	}
	if !wait {
		return syscall.Exec(path, append([]string{path}, args...), os.Environ())
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt) // krund gets them, too
	defer signal.Stop(signals)
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = c.Run()
	if status, ok := errors.AsType[*exec.ExitError](err); ok {
		return krundError(status.ExitCode())
	}
	return err
}

// krundError is the exit status of a krund that has said why.
type krundError int

func (e krundError) Error() string { return "" }

type runOptions struct {
	again, later bool
	executions   string
	rerunOptions
}

func runCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use: "run NAME.toml", Short: "Measure an experiment in this terminal", Long: runHelp,
		Args: arguments(1, 1, "the experiment's configuration, NAME.toml (`krunctl time` measures commands)"),
		RunE: func(c *cobra.Command, args []string) error {
			o.dryRun, _ = c.Flags().GetBool("dry-run")
			if o.executions != "" {
				return a.extend(c, args[0], o)
			}
			if !o.again {
				if err := only(c, "run without --again", forKrund); err != nil {
					return err
				}
				return a.krund(append(flagsOf(c, "run"), args[0]), false)
			}
			if err := only(c, "run --again", "again later outcome slot key dry-run"); err != nil {
				return err
			}
			if err := a.rerun(args[0], o.rerunOptions); err != nil || o.dryRun || o.later {
				return err
			}
			return a.runHere(args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&o.later, "later", false, "with --again: only make them outstanding")
	f.Bool("quick", false,
		"a first look: no restarts, no waits, two executions, few iterations, NAME-quick.krun")
	f.String("reboot", "", "what restarts before each execution: hardware, kexec, soft or none")
	f.String("directory", "", "the experiment's directory, instead of NAME.krun")
	f.Bool("accept-changed", false, "go on with programs that have changed, as a new edition")
	f.Bool("dry-run", false, "only print what would run")
	f.Bool("quiet", false, "print only errors")
	f.Bool("verbose", false, "also print debugging messages")
	hide(f, "quiet", "verbose", "later")
	f.BoolVar(&o.again, "again", false,
		"run finished slots once more; --outcome, --slot and --key select them")
	f.StringSliceVar(&o.outcomes, "outcome", nil,
		"slots that ended so: error, timeout, completed, or several with commas")
	f.IntSliceVar(&o.slots, "slot", nil, "the slot of that number, from 0, as status prints it")
	a.keyFlag(c, &o.key)
	f.StringVar(&o.executions, "executions", "", "add so many of each key to those that were measured: +15")
	return c
}

// extend adds executions to the configuration of an experiment that has ended, and runs them unless
// they restart the machine.
func (a *app) extend(c *cobra.Command, path string, o runOptions) error {
	if err := only(c, "run --executions", "executions dry-run"); err != nil {
		return err
	}
	wider, err := experiment.MoreExecutions(a.fsys, path, a.host, o.executions)
	if err == nil && !o.dryRun {
		err = wider.Store()
	}
	if err != nil {
		return err
	}
	if a.print("%s\n", wider.Said); o.dryRun {
		return nil
	}
	return a.runHere(path)
}

// forKrund are the flags that krund run has, too.
const forKrund = "quick reboot directory accept-changed dry-run quiet verbose"

// flagsOf returns a command of krund with the flags that were given.
func flagsOf(c *cobra.Command, command string) []string {
	args := []string{command}
	c.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "format" && f.Value.String() == "json":
			args = append(args, "--json")
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			args = append(args, "--"+f.Name)
		case f.Value.Type() == "string":
			args = append(args, "--"+f.Name, f.Value.String())
		}
	})
	return args
}

// unknownCommand answers a command that does not exist, by meaning or by letters.
func unknownCommand(c *cobra.Command, name string) error {
	if other, ok := display.Meant[strings.ToLower(name)]; ok {
		return usageError(fmt.Errorf("there is no command %s; what you mean may be %s", name, other))
	}
	err := fmt.Errorf("unknown command %q; `krunctl --help` lists the commands", display.Clip(name,
		messageBytes))
	if near := c.SuggestionsFor(name); len(near) > 0 {
		err = fmt.Errorf("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usageError(err)
}
