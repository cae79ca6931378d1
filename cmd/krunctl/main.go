package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/clock"
	"krund/internal/control"
	"krund/internal/durable"
	"krund/internal/folder"
	"krund/internal/msr"
	"krund/internal/probe"
	"krund/internal/sysroot"
	"krund/internal/unit"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is krunctl with the given arguments; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return runIn(&app{
		stdin: stdin, stderr: stderr, now: clock.Real{}.Now, host: host, fsys: durable.OS(), uid: os.Geteuid(), systemctl: unit.Systemctl,
		machine: func(ctx context.Context) *control.Machine { return control.NewMachine(ctx, sysroot.New("/")) },
		state:   "/var/lib/krund", runtime: folder.RuntimeDirs(), counters: msr.Probe,
		measure: func(ctx context.Context, m *control.Machine, cpus control.CPUs, d time.Duration) (probe.Proof, error) {
			return probe.Prove(ctx, m, clock.Real{}, cpus, d)
		},
	}, args, stdout)
}

// runIn is run in a world that a test may have made.
func runIn(a *app, args []string, stdout io.Writer) int {
	out := bufio.NewWriter(stdout)
	a.stdout = out
	root := rootCommand(a)
	root.SetArgs(args)
	err := root.Execute()
	if flushed := out.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("write the output: %w", flushed)
	}
	if text := message(err); text != "" {
		a.talk("krunctl: %s", text)
	}
	return exitCode(err)
}

const rootHelp = `krunctl plans, watches, reads, checks and mends experiments of krund.

An experiment is a file NAME.toml; its state and its results are in the folder
NAME.krun beside it. Every command takes either of the two.`

const exitHelp = `
EXIT STATUS
  0  all is well
  1  something could not be done, or problems were found
  2  wrong usage, or a mistake in the configuration`

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "krunctl COMMAND",
		Short:         "Plan, watch, read, check and mend experiments of krund",
		Long:          rootHelp + "\n" + exitHelp,
		Args:          cobra.ArbitraryArgs, // so that an unknown command comes to RunE
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		},
	}
	root.SuggestionsMinimumDistance = 2 // letters that may be wrong
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())}
	})
	root.AddCommand(commands(a)...)
	return root
}

// commands is the list of the subcommands, in the order of an experiment's life.
func commands(a *app) []*cobra.Command {
	return []*cobra.Command{
		doctorCommand(a),
		planCommand(a), statusCommand(a), showCommand(a), exportCommand(a), summaryCommand(a), checkDataCommand(a), repairCommand(a), restoreCommand(a),
		enableCommand(a), holdCommand(a), resumeCommand(a), stopCommand(a), disableCommand(a),
		amperfCommand(a), startupCommand(a),
		analyzeCommand(a), reportCommand(a), tableCommand(a), plotCommand(a), compareCommand(a), stabilityCommand(a), similarityCommand(a), optimiseCommand(a), importCommand(a), convertCommand(a),
		versionCommand(a),
	}
}

func unknownCommand(c *cobra.Command, name string) error {
	err := fmt.Errorf("there is no command %q; `krunctl --help` lists them", name)
	if near := c.SuggestionsFor(name); len(near) > 0 {
		err = fmt.Errorf("there is no command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usageError{err}
}
