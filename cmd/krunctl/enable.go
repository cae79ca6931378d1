package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

type unitOptions struct {
	start, stop, accept, yes bool
	root                     string
}

func enableCommand(a *app) *cobra.Command {
	var o unitOptions
	c := &cobra.Command{
		Use: "enable NAME.toml", Short: "Make an experiment start at every boot until it is done",
		Args: arguments(1, 1, "the experiment's configuration"),
		RunE: func(c *cobra.Command, args []string) error { return a.enable(c.Context(), args[0], o) },
	}
	c.Flags().BoolVar(&o.start, "start", false, "start now, not at the next boot")
	c.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&o.accept, "accept-changed", false,
		"go on with programs that have changed, as a new edition")
	c.Flags().StringVar(&o.root, "root", "",
		"install below this directory instead of /, and do not notify systemd")
	return c
}

func disableCommand(a *app) *cobra.Command {
	var o unitOptions
	c := &cobra.Command{
		Use: "disable NAME|NAME.toml", Short: "Make the next boots ordinary ones",
		Args: arguments(1, 1, "the experiment's name or configuration"),
		RunE: func(c *cobra.Command, args []string) error { return a.disable(c.Context(), args[0], o) },
	}
	c.Flags().BoolVar(&o.stop, "stop", false, "also stop a running krund")
	c.Flags().StringVar(&o.root, "root", "",
		"remove below this directory instead of /, and do not notify systemd")
	return c
}

func (a *app) installer(root string) (autostart.Installer, error) {
	if root != "" {
		abs, err := directory.Absolute(root)
		return autostart.Installer{FS: a.fsys, Root: abs}, err
	}
	if a.uid != 0 {
		return autostart.Installer{}, errors.New("changing what happens at boot needs root; use sudo")
	}
	return autostart.Installer{FS: a.fsys, Systemctl: a.systemctl}, nil
}

func (a *app) enable(ctx context.Context, path string, o unitOptions) error {
	if !strings.HasSuffix(path, ".toml") {
		return usageError(fmt.Errorf("%s is not a configuration; give the experiment's NAME.toml", path))
	}
	if o.start && o.root != "" {
		return usageError(errors.New("--root is for a machine that is not running: omit --start"))
	}
	cfg, err := config.Load(path, a.host, doctor.Settings())
	if err != nil {
		return err
	}
	p, err := summary.PlanOf(ctx, a.fsys, cfg, cfg.Path)
	if err != nil {
		return err
	}
	if p.Finished == p.SlotsTotal {
		return fmt.Errorf("nothing is outstanding in %s; the experiment is finished", p.Directory)
	}
	i, err := a.installer(o.root)
	if err != nil {
		return err
	}
	if err := a.alone(cfg, i); err != nil {
		return err
	}
	entry, ofItsOwn := a.entryOf(ctx, cfg)
	if ofItsOwn {
		if err := bootable(entry, o); err != nil {
			return err
		}
	}
	a.console().Announce(a.fsys, cfg, p, o.start, o.accept)
	if config.Restarts(cfg.Experiment.Reboot) && o.root == "" && !o.yes {
		if ok, err := a.confirm("Continue?"); err != nil || !ok {
			return errors.Join(err, errors.New("not enabled; nothing was changed"))
		}
	}
	a.print("\n")
	if err := a.setRequests(cfg.Path, o.accept); err != nil {
		return err
	}
	made, err := i.Install(ctx, cfg.Experiment.Name, cfg.Path)
	for _, file := range made {
		a.console().Line("installed", "%s", file)
	}
	if err != nil {
		return err
	}
	if ofItsOwn && o.root == "" {
		if err := entry.Ask(ctx); err != nil {
			return err
		}
	}
	if o.start {
		name := autostart.UnitName(cfg.Experiment.Name)
		if err := a.systemctl(ctx, "start", "--no-block", name); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		a.console().Line("started", "%s; `journalctl -fu %s` follows it", name, display.ShellQuote(name))
	}
	return nil
}

// alone returns an error if an enabled experiment and this one both need the machine for
// themselves: one of them would fail in each boot.
func (a *app) alone(cfg *config.Config, i autostart.Installer) error {
	if !wantsAll(cfg) {
		return nil
	}
	others, err := i.Others(cfg.Experiment.Name)
	if err != nil {
		return err
	}
	for _, name := range others {
		path, known := i.UnitConfig(name)
		if known {
			if other, err := experiment.ParseConfig(a.fsys, path, a.host); err == nil && !wantsAll(other) {
				continue
			}
		}
		next := fmt.Sprintf("`systemctl disable %s`", display.ShellQuote(name))
		if known {
			next = fmt.Sprintf("wait for its end (`krunctl status %s`), or `krunctl disable %[1]s`",
				display.ShellPath(path))
		}
		return fmt.Errorf("%s is already enabled, with %s, and both need the machine for themselves: "+
			"if both started at a boot, one would fail; %s, then enable this one",
			name, cmp.Or(path, "an unknown configuration"), next)
	}
	return nil
}

// wantsAll reports whether there can be only one such experiment on a machine at a time.
func wantsAll(cfg *config.Config) bool {
	return config.Restarts(cfg.Experiment.Reboot) || cfg.Experiment.Account == config.AccountFresh
}

// setRequests removes an old request to stop, which would end the next krund, and asks it to accept
// changed programs.
func (a *app) setRequests(path string, accept bool) error {
	f, err := experiment.OpenToChange(a.fsys, path, a.uid)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has not begun
	}
	if err == nil {
		_, err = f.Withdraw(directory.Stop)
	}
	if err == nil && accept {
		err = f.Ask(directory.Accept, "krund goes on with programs that have changed: krunctl enable asked "+
			"for it")
	}
	return explainRights(err)
}

func (a *app) disable(ctx context.Context, arg string, o unitOptions) error {
	name, err := experiment.Name(a.fsys, arg, a.host)
	if err != nil {
		return err
	}
	if o.stop && o.root != "" {
		return usageError(errors.New("--root is for a machine that is not running: omit --stop"))
	}
	i, err := a.installer(o.root)
	if err != nil {
		return err
	}
	if o.root == "" {
		if err := a.ordinaryBoot(ctx, a.configOf(arg)); err != nil {
			return err
		}
	}
	removed, err := i.Remove(ctx, name)
	if err != nil {
		return err
	}
	if removed {
		a.console().Line("removed", "%s; the next boot is an ordinary one", autostart.UnitName(name))
	} else {
		a.console().Line("unchanged", "%s is not enabled", autostart.UnitName(name))
	}
	if o.stop {
		if err := a.systemctl(ctx, "stop", autostart.UnitName(name)); err != nil {
			return fmt.Errorf("stop %s: %w", autostart.UnitName(name), err)
		}
		a.console().Line("stopped", "%s", autostart.UnitName(name))
	}
	return nil
}

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
