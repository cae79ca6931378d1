package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/stop"
	"krund/internal/hub/joined"
	"krund/internal/machine/command"
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
