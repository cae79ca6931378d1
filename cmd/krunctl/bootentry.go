package main

import (
	"context"
	"fmt"
	"strings"

	"krund/internal/boot/autostart"
	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/reading/experiment"
)

// entryOf returns the boot loader's entry of an experiment; false if it has none of its own, or
// does not restart the machine.
func (a *app) entryOf(ctx context.Context, cfg *config.Config) (autostart.Entry, bool) {
	return autostart.EntryOf(cfg, cfg.Experiment.Reboot, a.machine(ctx).Root)
}

// bootable returns why an experiment with a boot entry of its own cannot be enabled with these
// options.
func bootable(entry autostart.Entry, o unitOptions) error {
	if o.start {
		return usageError(
			fmt.Errorf(
				"the experiment runs only in boots of the entry %s (boot.entry): omit --start, and restart "+
					"the machine",
				entry.Name),
		)
	}
	if o.root != "" {
		return nil // its boot loader is not this machine's
	}
	return entry.Check()
}

// configOf returns the configuration of the experiment that arg names: a configuration, a
// directory, or the name of an enabled experiment. It returns nil if there is none, and thus no
// known entry.
func (a *app) configOf(arg string) *config.Config {
	if strings.HasSuffix(arg, ".toml") {
		cfg, err := experiment.ParseConfig(a.fsys, arg, a.host)
		if err == nil {
			return cfg
		}
	}
	if f, err := experiment.Open(a.fsys, arg); err == nil {
		if cfg, err := f.Config(a.host); err == nil {
			return cfg
		}
	}
	if path, ok := (autostart.Installer{FS: a.fsys}).Config(arg); ok {
		if cfg, err := experiment.ParseConfig(a.fsys, path, a.host); err == nil {
			return cfg
		}
	}
	return nil
}

// ordinaryBoot withdraws the request to the boot loader for an experiment that must not run in the
// next boot. That needs root. For other users the next boot uses the experiment's entry, and krund
// runs nothing in it.
func (a *app) ordinaryBoot(ctx context.Context, cfg *config.Config) error {
	if cfg == nil || a.uid != 0 {
		return nil
	}
	entry, ok := a.entryOf(ctx, cfg)
	if !ok {
		return nil
	}
	return entry.Withdraw(ctx)
}

// bootAgain requests the next boot for an experiment that was held and is enabled, or prints the
// command that does.
func (a *app) bootAgain(ctx context.Context, f experiment.Experiment) error {
	cfg, err := f.Config(a.host)
	if err != nil {
		return nil //nolint:nilerr // it has not begun: `krunctl enable` asks for its first boot
	}
	entry, ok := a.entryOf(ctx, cfg)
	if !ok {
		return nil
	}
	path := strings.TrimSuffix(f.Dir(), ".krun") + ".toml"
	if a.uid != 0 || !(autostart.Installer{FS: a.fsys}).Enabled(cfg.Experiment.Name) {
		a.console().Line("but",
			"the next boot is an ordinary one; `sudo krunctl enable %s` requests the entry %s from the "+
				"boot loader",
			display.ShellPath(path), entry.Name)
		return nil
	}
	if err := entry.Ask(ctx); err != nil {
		return err
	}
	a.console().Line("next boot", "the boot loader's entry %s", entry.Name)
	return nil
}
