package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/display"
	"krund/internal/experiment/starter"
	"krund/internal/trial"
)

const initHelp = `Init writes a first experiment into this directory: NAME.toml, a configuration with
comments, and a benchmark that runs, in a language or as a command. Nothing that
exists is replaced. It prints what to type next.

The languages are c, python, javascript, java, ruby, lua, php, go and rust. For .NET
and suites that measure themselves see runners/README.md.

EXAMPLES
  krunctl init python
  krunctl init c sums
  krunctl init sorting -- sort words
` + exitHelp

func initCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "init LANGUAGE [NAME] | NAME -- COMMAND...", Short: "Write a first experiment that runs",
		Long: initHelp,
		RunE: func(c *cobra.Command, args []string) error {
			name, language, command := "bench", "", []string(nil)
			switch at := c.ArgsLenAtDash(); {
			case at == 1 && len(args) > 1:
				name, command = args[0], args[1:]
			case at < 0 && len(args) == 1:
				language = args[0]
			case at < 0 && len(args) == 2:
				language, name = args[0], args[1]
			default:
				return usageError(errors.New("init needs a language, such as `krunctl init python`, or a name " +
					"and a command: `krunctl init NAME -- COMMAND`"))
			}
			return a.init(name, language, command)
		},
	}
}

func (a *app) init(name, language string, command []string) error {
	e, err := starter.New(name, language, command, trial.Runners())
	if err != nil {
		return usageError(err)
	}
	toml := name + ".toml"
	if err := e.Write("."); err != nil {
		return fmt.Errorf("%w; choose another name", err)
	}
	if e.File != "" {
		a.print("wrote %s, the benchmark: replace its fib\n", e.File)
	}
	a.print("wrote %s, the experiment\n\nnext:\n", toml)
	krunctl := display.Program(os.Args[0], "krunctl")
	if e.Build != "" {
		a.print("  (cd %s && %s)\n", display.ShellPath(filepath.Dir(e.File)), e.Build)
	}
	for _, line := range []string{"check " + toml, "run " + toml, "analyze " + name + ".krun",
		"report " + name + ".krun"} {
		a.print("  %s\n", strings.Join([]string{krunctl, line}, " "))
	}
	return nil
}
