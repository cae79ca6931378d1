package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"krund/internal/boot"
	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/experiment/stop"
	"krund/internal/hub/joined"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
)

// krunctlPath returns the path of the krunctl of this krund: both are in one directory.
func krunctlPath() (string, error) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return "", fmt.Errorf("find krund's own directory: %w", err)
	}
	return filepath.Join(filepath.Dir(exe), "krunctl"), nil
}

// krunctl returns what a person types to start the krunctl of this krund.
func krunctl() string { return display.Program(os.Args[0], "krunctl") }

// deciderInstalled returns an error if keys are to be finished early and there is no krunctl. An
// experiment that has started goes on without it, as planned.
func deciderInstalled(cfg *config.Config, started bool) error {
	if len(cfg.Stop.Rules) == 0 || started {
		return nil
	}
	path, err := krunctlPath()
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("stop.rules needs krunctl beside krund: %w; install it there, or remove the rules",
			err)
	}
	return nil
}

// askKrunctl runs the krunctl of this krund with the arguments of c, and returns its output.
func askKrunctl(ctx context.Context, c command.Cmd) (string, error) {
	path, err := krunctlPath()
	if err != nil {
		return "", err
	}
	c.Argv = append([]string{path}, c.Argv...)
	return command.Run(ctx, c)
}

// decider returns boot.System.Decide for the experiment in dir.
func decider(cfg *config.Config, dir, mode string, environ []string) func(context.Context,
	string) ([]byte, error) {
	return func(ctx context.Context, key string) ([]byte, error) {
		argv := []string{"status", "--decision"}
		if key != "" {
			argv = append(argv, "--key", key)
		}
		out, err := askKrunctl(ctx, command.Cmd{
			Argv: append(argv, "--", dir), Env: environ, Timeout: cfg.Stop.Deadline,
			Output: stop.MaxBytes + 1, StdoutOnly: true, Trust: config.Rule(mode),
			WithParent: syscall.SIGKILL, // it has nothing to restore
		})
		return []byte(out), err
	}
}

// shipper returns boot.System.Ship for the experiment in dir, nil if this machine has joined no
// hub. krunctl has a deadline of its own, which is shorter.
func shipper(dir, mode string, environ []string) func(context.Context) error {
	if _, err := os.Lstat(joined.File); err != nil {
		return nil
	}
	const deadline, output = 11 * time.Minute, 64 << 10
	return func(ctx context.Context) error {
		_, err := askKrunctl(ctx, command.Cmd{
			Argv: []string{"hub", "ship", "--brief", "--", dir}, Env: environ, Timeout: deadline,
			Output: output, Trust: config.Rule(mode),
		})
		return err
	}
}

// measure is `krund measure`: it performs the executions of a configuration and prints their
// records, one JSON value per line. It makes no directory and stores nothing, so that an execution
// costs what its process costs. It is for krunctl time, whose configurations leave the machine as
// it is; others are refused.
func measure(ctx context.Context, args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	path, err := parseWithFile(flags, args)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(path, false, false)
	if err != nil {
		return err
	}
	e, hooks := cfg.Experiment, cfg.Hooks
	if e.Reboot != config.RebootNone || e.Account != config.AccountCaller || len(e.Relink) > 0 ||
		len(hooks.Before)+len(hooks.After) > 0 {
		return usageError{"krund measure is for krunctl time: it needs reboot = \"none\", account = " +
			"\"caller\", and neither hooks nor relink; krund run does the rest"}
	}
	if err := cfg.Trusted(config.RebootNone); err != nil {
		return err
	}
	installed, err := findInstalled(path) // a control group of its own
	if err != nil {
		return err
	}
	if err := runnersInstalled(cfg, installed); err != nil {
		return err
	}
	clock, machine := sysroot.RealClock{}, control.NewMachine(ctx, sysroot.New("/"))
	system := boot.System{
		Clock: clock, Version: display.Version(), Host: cfg.Hostname, Root: os.Geteuid() == 0,
		BootID: machine.Boot, BootKind: config.RebootNone,
		Progress: &progress{screen: newScreen(io.Discard), quiet: true},
		Executor: execution.Executor{Runner: child.Runner{}, Installed: installed, Root: sysroot.New("/"),
			Trust: config.Rule(config.RebootNone)},
		Machine: &boot.LabMachine{Control: machine, Clock: clock, Root: os.Geteuid() == 0,
			Probes: doctor.Of(cfg, config.RebootNone).Probe},
	}
	each := func(r results.Record) error { return results.EncodeJSON(stdout, r) }
	err = boot.Unrecorded(ctx, cfg, system, each)
	if err = errors.Join(err, child.RemoveGroup(installed.Cgroup)); errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

// build is `krund build --time D SOURCE INTO COMMAND...`, for krunctl: it runs a command in a copy
// of the directory SOURCE, once, as the account of benchmarks and in a control group of its own,
// and makes the directory INTO of what that leaves. It prints what the command has printed. No
// control is applied. The status is that of failed executions if the command has failed.
func build(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	b := execution.Build{}
	flags.DurationVar(&b.Timeout, "time", bundle.MaxBuild, "")
	if err := flags.Parse(args); err != nil || flags.NArg() < 3 || !filepath.IsAbs(flags.Arg(0)) ||
		!filepath.IsAbs(flags.Arg(1)) || b.Timeout <= 0 {
		return usageError{"krund build is for krunctl: --time D SOURCE INTO COMMAND..."}
	}
	b.Source, b.Into, b.Argv = flags.Arg(0), flags.Arg(1), flags.Args()[2:]
	fresh := &config.Config{Experiment: config.Experiment{Account: config.AccountFresh}}
	return asGuest(ctx, fresh, b.Into, "build", config.RebootNone, stderr, func(in execution.Installed,
		a account.Account, scratch string) error {
		b.Account, b.Scratch = a, scratch
		output, err := execution.Executor{Runner: child.Runner{}, Installed: in}.Build(ctx, b)
		fmt.Fprint(stdout, output)
		if err == nil {
			syncDisks()
		}
		return err
	})
}
