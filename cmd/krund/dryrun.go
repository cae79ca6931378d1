package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"krund/internal/boot"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/schedule"
)

// dryRun is `krund run --dry-run`: it prints what would run, and changes nothing.
func dryRun(o runOptions, stdout io.Writer) error {
	cfg, err := loadConfig(o.path, boot.Started(durable.OS(), o.directory), o.quick)
	if err != nil {
		return err
	}
	left, growth, err := leftIn(o.directory, cfg)
	if err != nil {
		return err
	}
	reboot := cfg.Experiment.Reboot
	if o.reboot != "" {
		reboot = o.reboot
	}
	how := "without reboots"
	if config.Restarts(reboot) {
		how = "each after a reboot"
	}
	fmt.Fprintf(stdout, "would run %d of %s of %s, %s, with results in %s\n", left,
		display.Count(cfg.Slots(), "process execution"), display.Count(len(cfg.Keys()), "key"), how,
		o.directory)
	if growth != "" {
		fmt.Fprintln(stdout, growth)
	}
	for _, k := range cfg.Keys() {
		fmt.Fprintf(stdout, "  run   %s, %s of %s\n", k,
			display.Count(cfg.Executions(k), "execution"),
			display.Count(cfg.Iterations(k), "iteration"))
	}
	for _, k := range cfg.Skipped() {
		fmt.Fprintf(stdout, "  skip  %s\n", k)
	}
	fmt.Fprintf(stdout, "`%s check --plan %s` shows the order and the time; nothing was started\n",
		krunctl(), display.ShellPath(o.path))
	return nil
}

// leftIn returns how many slots of the experiment in dir are left to run, all if it has not begun,
// and a sentence about how it would grow before that; "" if it would not.
func leftIn(dir string, cfg *config.Config) (left int, growth string, err error) {
	f, err := directory.Open(durable.OS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg.Slots(), "", nil
	}
	if err != nil {
		return 0, "", err
	}
	s, err := schedule.Open(f.FS(), f.Schedule(), false)
	if errors.Is(err, fs.ErrNotExist) {
		return cfg.Slots(), "", nil
	}
	if err != nil {
		return 0, "", err
	}
	defer s.Close()                   //nolint:errcheck // read-only
	quick := config.IsQuick(cfg.Text) // replaces an earlier one
	_, other := f.AsBegun(cfg, s.Header().ConfigHash)
	switch {
	case other != nil && quick:
		return cfg.Slots(), "", nil
	case other != nil && other.Was != nil:
		growth = other.Growth(cfg.Slots())
	case other != nil:
		return 0, "", other
	}
	sum, err := s.Summarize()
	if left = cfg.Slots() - sum.Final(); left > 0 || err != nil || !quick {
		return left, growth, err
	}
	return cfg.Slots(), "", nil
}
