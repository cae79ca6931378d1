package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"krund/internal/display"
	"krund/internal/execution"
	"krund/internal/execution/account"
	"krund/internal/execution/child"
	"krund/internal/execution/rehearsal"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/machine/sysroot"
)

// tryKeys is the part of `krund check --try` that runs benchmarks: one iteration of each key. It
// touches nothing of the experiment. The account for benchmarks is made for it and removed again;
// it is refused while another krund uses that account. show gets each result.
func tryKeys(ctx context.Context, cfg *config.Config, stderr io.Writer,
	show func(rehearsal.Result)) (err error) {
	dir := directory.For(cfg.Path)
	mode := cfg.Experiment.Reboot
	lock, err := lockMachine(ctx, cfg, dir, mode, os.Geteuid() == 0, stderr, directory.RuntimeDirs()...)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Release() //nolint:errcheck // the end of the process releases it in any case
	}
	installed, err := findInstalled(dir + " try") // a control group of its own
	if err != nil {
		return err
	}
	setting := rehearsal.Setting{Cgroup: installed.Cgroup, Root: os.Geteuid() == 0, Directory: dir,
		Executor: execution.Executor{Runner: child.Runner{}, Installed: installed, Root: sysroot.New("/"),
			Trust: config.Rule(mode)}}
	defer func() { err = errors.Join(err, child.RemoveGroup(installed.Cgroup)) }()
	if cfg.Experiment.Account == config.AccountFresh {
		defer func() {
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
			defer cancel()
			_, removeErr := account.Remove(after)
			err = errors.Join(err, removeErr)
		}()
		if setting.Account, _, err = account.Fresh(ctx, cfg.Limits.Home); err != nil {
			return err
		}
	}
	if setting.Scratch, err = os.MkdirTemp("", "krund-try-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(setting.Scratch)) }()
	err = rehearsal.Run(ctx, cfg, setting, show)
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

// printRehearsal prints the result of a key for people.
func printRehearsal(w io.Writer, width int, r rehearsal.Result) {
	state := "ok"
	switch {
	case !r.OK:
		state = "fails"
	case len(r.Warnings) > 0:
		state = "look"
	}
	fmt.Fprintf(w, "%-5s  %s, %s\n", state, r.Key, time.Duration(r.WallNS).Round(time.Millisecond))
	for _, text := range append(r.Reasons, r.Warnings...) {
		fmt.Fprintf(w, "%s\n", display.Wrap("       "+printable(text), width, "       "))
	}
	if r.Fix != "" {
		fmt.Fprintf(w, "%s\n", display.Wrap("       do: "+display.PlainLine(r.Fix), width, "       "))
	}
}
