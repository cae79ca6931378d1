package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/trial"
)

const runHelp = `Run measures an experiment in this terminal: it starts krund, which runs what is
outstanding, an execution after another, and can be stopped with Ctrl-C and started
again at any time. It never restarts the machine: for an experiment that does, use
krunctl enable, or say --reboot none, or --quick for a first look.

Options are those of krund run; see krund(8) or krund --help.

EXAMPLES
  krunctl run bench.toml
  krunctl run --quick bench.toml           one short execution of each key
  krunctl run --reboot none warmup.toml    without the restarts that it asks for
` + exitHelp

const checkHelp = `Check says what would go wrong, the problems first. With a configuration it checks
that, its programs, and this machine for it (krund check); with the directory of an
experiment whether everything in it agrees (krunctl check-data); with nothing, this
machine (krunctl doctor).

Options are those of the command in brackets.

EXAMPLES
  krunctl check
  krunctl check bench.toml
  krunctl check --reboot none warmup.toml
  krunctl check warmup.krun
` + exitHelp

// startKrund becomes krund, which is beside krunctl.
func startKrund(args []string) error {
	path, err := trial.KrundPath()
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{path}, args...), os.Environ())
}

// forKrund makes a command whose options are those of krund.
func forKrund(name, use, short, long string, run func(args []string) error) *cobra.Command {
	return &cobra.Command{Use: name + " " + use, Short: short, Long: long, DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "--" {
					break
				}
				if arg == "-h" || arg == "--help" || arg == "-help" {
					return c.Help()
				}
			}
			return run(args)
		}}
}

func runCommand(a *app) *cobra.Command {
	return forKrund("run", "NAME.toml", "Measure an experiment in this terminal", runHelp,
		func(args []string) error {
			if len(args) == 0 {
				return usageError(errors.New("run needs the experiment's configuration, NAME.toml; a " +
					"single command is measured by `krunctl time`"))
			}
			return a.krund(append([]string{"run"}, args...))
		})
}

func checkCommand(a *app) *cobra.Command {
	return forKrund("check", "[NAME.toml | DIR]", "Say what would go wrong, the problems first", checkHelp,
		func(args []string) error {
			var what string
			for _, arg := range args {
				if strings.HasSuffix(arg, ".toml") {
					return a.krund(append([]string{"check"}, args...))
				}
				if info, err := a.fsys.Lstat(arg); err == nil && info.IsDir() {
					what = arg
				}
			}
			command := doctorCommand(a)
			if what != "" {
				command = checkDataCommand(a)
			}
			command.SilenceErrors, command.SilenceUsage = true, true
			command.SetFlagErrorFunc(flagError)
			command.SetOut(a.stdout)
			command.SetErr(a.stderr)
			command.SetArgs(append([]string{}, args...)) // nil would be those of the program
			return command.Execute()
		})
}

// unknownCommand answers a command that does not exist, by meaning or by letters.
func unknownCommand(c *cobra.Command, name string) error {
	if other, ok := display.Meant[strings.ToLower(name)]; ok {
		return usageError(fmt.Errorf("there is no command %s; what you mean may be %s", name, other))
	}
	err := fmt.Errorf("unknown command %q; `krunctl --help` lists the commands", display.Clip(name, messageBytes))
	if near := c.SuggestionsFor(name); len(near) > 0 {
		err = fmt.Errorf("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usageError(err)
}
