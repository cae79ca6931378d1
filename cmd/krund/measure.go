package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"

	"krund/internal/boot"
	"krund/internal/boot/doctor"
	"krund/internal/control"
	"krund/internal/display"
	"krund/internal/execution"
	"krund/internal/execution/child"
	"krund/internal/experiment/config"
	"krund/internal/experiment/results"
	"krund/internal/machine/sysroot"
)

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
