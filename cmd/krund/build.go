package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
)

// build is `krund build --time D SOURCE INTO COMMAND...`, for krunctl: it runs a command in a copy
// of the directory SOURCE, once, as the account of benchmarks and in a control group of its own,
// and makes the directory INTO of what that leaves. It prints what the command has printed. No
// control is applied. The status is that of failed executions if the command has failed.
func build(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	b := execution.Build{}
	flags.DurationVar(&b.Timeout, "time", bundle.MaxBuild, "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 3 || !filepath.IsAbs(flags.Arg(0)) ||
		!filepath.IsAbs(flags.Arg(1)) || b.Timeout <= 0 {
		return usageError{"krund build is for krunctl: --time D SOURCE INTO COMMAND..."}
	}
	b.Source, b.Into, b.Argv = flags.Arg(0), flags.Arg(1), flags.Args()[2:]
	root := os.Geteuid() == 0
	fresh := &config.Config{Experiment: config.Experiment{Account: config.AccountFresh}}
	lock, err := lockMachine(ctx, fresh, b.Into, config.RebootNone, root, stderr, directory.RuntimeDirs()...)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
	}
	installed, err := findInstalled("build")
	if err != nil {
		return err
	}
	if b.Scratch, err = os.MkdirTemp("", "krund-build-"); err != nil {
		return err
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		_, removeErr := account.Remove(after)
		err = errors.Join(err, removeErr, child.RemoveGroup(installed.Cgroup), os.RemoveAll(b.Scratch))
	}()
	if b.Account, _, err = account.Fresh(ctx, 0); err != nil {
		return err
	}
	executor := execution.Executor{Runner: child.Runner{}, Installed: installed}
	output, err := executor.Build(ctx, b)
	fmt.Fprint(stdout, output)
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if err == nil {
		syncDisks()
	}
	return err
}
