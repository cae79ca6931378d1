package main

import (
	"context"
	"fmt"
	"strings"

	"krund/internal/autostart"
	"krund/internal/config"
	"krund/internal/display"
	"krund/internal/experiment"
)

// entryOf returns the entry of the boot loader that an experiment boots by; false when it boots as everybody does, or does not restart the machine.
func (a *app) entryOf(ctx context.Context, cfg *config.Config) (autostart.Entry, bool) {
	return autostart.EntryOf(cfg, cfg.Experiment.Reboot, a.machine(ctx).Root)
}

// bootable says why an experiment with a boot entry of its own cannot be enabled so.
func bootable(entry autostart.Entry, o unitOptions) error {
	if o.start {
		return usageError(fmt.Errorf("the experiment runs in boots of the entry %s only (boot.entry): leave out --start, and restart the machine", entry.Name))
	}
	if o.root != "" {
		return nil // its boot loader is not this machine's
	}
	return entry.Check()
}

// configOf is the configuration of the experiment that arg means: a configuration, a directory, or the name of one that is enabled. nil when it cannot be
// found: then nothing is known of an entry either.
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

// ordinaryBoot takes back what was asked of the boot loader for an experiment that is not to run in the next boot. It needs root; without, the next
// boot is the experiment's, and nothing runs in it.
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

// bootAgain asks for the next boot of an experiment that was held and is enabled, or says how to.
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
		a.line("but", "the next boot is an ordinary one until `sudo krunctl enable %s` asks the boot loader for the entry %s", display.ShellPath(path), entry.Name)
		return nil
	}
	if err := entry.Ask(ctx); err != nil {
		return err
	}
	a.line("next boot", "the boot loader's entry %s", entry.Name)
	return nil
}
