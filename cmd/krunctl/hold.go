package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/boot/autostart"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
)

func holdCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "hold DIR|NAME.toml", Short: "Make the next boots ordinary ones, until resume",
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(c *cobra.Command, args []string) error { return a.hold(c.Context(), args[0]) },
	}
}

func resumeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "resume DIR|NAME.toml", Short: "End a hold: krund continues at the next boot",
		Args: arguments(1, 1, "the experiment's directory or configuration"),
		RunE: func(c *cobra.Command, args []string) error { return a.resume(c.Context(), args[0]) },
	}
}

func (a *app) hold(ctx context.Context, arg string) error {
	f, err := a.directoryToAsk(arg)
	if err != nil {
		return err
	}
	was, err := f.Asked(directory.Hold)
	if err != nil {
		return err
	}
	if !was {
		if err := f.Ask(directory.Hold, a.signature("hold")); err != nil {
			return explainRights(err)
		}
	}
	if err := a.ordinaryBoot(ctx, a.configOf(arg)); err != nil {
		return err
	}
	a.console().Line("held", "%s; the next boots are ordinary ones", f.Dir())
	st, err := a.statusOf(f)
	if err == nil && st.State == summary.StateFinished {
		a.console().Line("finished", "nothing is outstanding: no boot would have continued it anyway")
	}
	who, err := a.whoRuns(f)
	if err != nil {
		return err
	}
	if who != "" {
		then := "finishes the running execution, and then restarts the machine once"
		if st.Reboot == config.RebootNone {
			then = "restarts nothing, and goes on to its end; `krunctl stop` ends it after the running execution"
		}
		a.console().Line("running", "%s; it %s", who, then)
	}
	a.console().Line("continue", "krunctl resume %s", display.ShellPath(arg))
	return nil
}

func (a *app) resume(ctx context.Context, arg string) error {
	f, err := experiment.OpenToChange(a.fsys, arg, a.uid)
	if err != nil {
		return err
	}
	was, err := f.Withdraw(directory.Hold)
	if err != nil {
		return explainRights(err)
	}
	if was {
		a.console().Line("resumed", "%s", f.Dir())
	} else {
		a.console().Line("unchanged", "%s has no hold", f.Dir())
	}
	why, err := autostart.FindHold(a.fsys, f.Dir(), a.machine(ctx).Root)
	if err != nil {
		return err
	}
	if why != "" {
		a.console().Line("but", "%s", why)
		return nil
	}
	return a.bootAgain(ctx, f)
}

// directoryToAsk opens the experiment's directory, and creates it for an experiment that has not
// begun.
func (a *app) directoryToAsk(arg string) (experiment.Experiment, error) {
	f, err := experiment.OpenToChange(a.fsys, arg, a.uid)
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(arg, ".toml") {
		return f, err
	}
	if _, err := a.fsys.Lstat(arg); err != nil {
		return f, err
	}
	fsys, dir := a.fsys, experiment.DirectoryOf(arg)
	if a.uid == 0 { // no link leads root out of the configuration's directory
		if fsys, err = durable.Inside(a.fsys, filepath.Dir(dir)); err != nil {
			return f, err
		}
	}
	d, err := directory.Create(fsys, dir)
	return experiment.Experiment{Directory: d}, explainRights(err)
}

// signature returns the text of a request: its author and its time.
func (a *app) signature(what string) string {
	return fmt.Sprintf("krunctl %s, user %d on %s, %s", what, a.uid, a.host,
		a.now().UTC().Format(time.RFC3339))
}

// explainRights adds advice to an error of missing permission.
func explainRights(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; run this as the owner of the experiment's directory, or with sudo", err)
	}
	return err
}

// whoRuns describes the krund that works on the experiment; "" for none.
func (a *app) whoRuns(f experiment.Experiment) (string, error) {
	lock, err := f.Lock(os.Getpid(), a.host)
	var locked *directory.LockedError
	switch {
	case errors.As(err, &locked) && locked.PID > 0:
		return fmt.Sprintf("krund, process %d on %s", locked.PID, locked.Host), nil
	case errors.Is(err, durable.ErrLocked):
		return "krund", nil
	case err != nil:
		return "", err
	}
	return "", lock.Release()
}

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
