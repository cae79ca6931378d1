package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"krund/internal/boot/autostart"
	"krund/internal/experiment/directory"
	"krund/internal/reading/experiment"
)

func stopCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stop DIR|NAME.toml", Short: "End an experiment after the running execution",
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(c *cobra.Command, args []string) error { return a.stop(c.Context(), args[0]) },
	}
}

func (a *app) stop(ctx context.Context, arg string) error {
	f, err := experiment.OpenToChange(a.fsys, arg, a.uid)
	if err != nil {
		return err
	}
	who, err := a.whoRuns(f)
	if err != nil {
		return explainRights(err)
	}
	if who != "" {
		if err := f.Ask(directory.Stop, a.signature("stop")); err != nil {
			return explainRights(err)
		}
		a.console().Line("requested", "%s ends after the running execution", who)
	} else {
		if _, err := f.Withdraw(directory.Stop); err != nil { // an old request would end the next krund
			return explainRights(err)
		}
		a.console().Line("not running", "no krund works on %s", f.Dir())
	}
	return a.disableAfter(ctx, a.nameIn(f, arg), who != "")
}

// disableAfter disables the unit of an experiment, or prints that krund will.
func (a *app) disableAfter(ctx context.Context, experiment string, running bool) error {
	i := autostart.Installer{FS: a.fsys, Systemctl: a.systemctl}
	name := autostart.UnitName(experiment)
	switch {
	case !i.Enabled(experiment):
		a.console().Line("next boot", "an ordinary one: %s is not enabled", name)
		return nil
	case a.uid != 0 && running:
		a.console().Line("next boot", "an ordinary one: krund disables %s when it ends", name)
		return nil
	case a.uid != 0:
		return errors.New("disabling " + name + " needs root; use sudo")
	}
	if err := i.Unlink(ctx, experiment); err != nil {
		return fmt.Errorf("make the next boots ordinary ones: %w", err)
	}
	a.console().Line("disabled", "%s; the next boot is an ordinary one", name)
	return nil
}

// nameIn returns the name of the experiment in f: that of the configuration it was started with, or
// else that of arg.
func (a *app) nameIn(f experiment.Experiment, arg string) string {
	if cfg, err := f.Config(a.host); err == nil {
		return cfg.Experiment.Name
	}
	name, err := experiment.Name(a.fsys, arg, a.host)
	if err != nil { // a configuration with mistakes: its file's name is all there is
		name, _ = experiment.Name(a.fsys, f.Dir(), a.host)
	}
	return name
}
