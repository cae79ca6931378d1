package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/boot/autostart"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/hub/api"
	"krund/internal/hub/joined"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
)

func shipCommand(a *app) *cobra.Command {
	var brief bool
	c := &cobra.Command{
		Use: "ship [DIR|NAME.toml]", Short: "Send records to the hub",
		Args: arguments(0, 1, "an experiment's directory or configuration, or nothing"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.shipIdle(c.Context())
			}
			return a.shipOne(c.Context(), args[0], false, brief)
		},
	}
	c.Flags().BoolVar(&brief, "brief", false, "")
	c.Flags().Lookup("brief").Hidden = true // for krund
	return c
}

// hub returns the client of this machine's hub, and a context that ends at its deadline.
func (a *app) hub(ctx context.Context) (context.Context, context.CancelFunc, *api.Client, error) {
	h, err := joined.Load(a.fsys, a.hubFile)
	if err != nil {
		return nil, nil, nil, err
	}
	limit, err := h.Limit()
	if err != nil {
		return nil, nil, nil, err
	}
	client, err := api.NewClient(h.URL, h.Token)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, client, nil
}

// shipOne ships an experiment, and keeps it in the list until the hub has all of it.
func (a *app) shipOne(ctx context.Context, arg string, idle, brief bool) error {
	f, err := experiment.OpenToChange(a.fsys, arg, a.uid)
	if err != nil {
		return err
	}
	dir, err := directory.Absolute(f.Dir())
	if err != nil {
		return err
	}
	ctx, cancel, client, err := a.hub(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	known := ship.KnownAt(a.fsys, a.state)
	if err := known.Add(dir); err != nil {
		return err
	}
	progress, name, err := ship.ProgressOf(f, a.host)
	if err != nil {
		return err
	}
	if idle && !progress.Ended && a.abandoned(name) {
		progress.Ended, progress.Reason = true, "stopped on the machine"
	}
	work := ship.Shipper{Directory: f.Directory, Client: client, Name: name, Progress: progress,
		Status: a.machineStatus(ctx), Brief: brief}
	if cfg, err := f.Config(a.host); err == nil && len(cfg.Control("network").List("down")) > 0 {
		work.Online = carried
	}
	result, err := work.Send(ctx, sysroot.RealClock{})
	if err != nil {
		return err
	}
	a.console().Line("shipped", "%s of %s to %s", display.Count(result.Sent, "record"), f.Dir(), client.URL)
	if result.Deleted {
		a.console().Line("deleted", "%s was deleted on the hub, and is not shipped any more; it stays here",
			f.Dir())
	}
	if result.Deleted || progress.Ended && result.Orders.Request == "" {
		if err := known.Remove(dir); err != nil {
			return err
		}
	}
	if result.Deleted && progress.Ended {
		return nil // there is nothing to stop
	}
	return a.follow(f, result.Orders.Request)
}

// carried reports whether an interface other than the loopback has a carrier.
func carried() bool {
	list, err := net.Interfaces()
	return err != nil || slices.ContainsFunc(list, func(i net.Interface) bool {
		return i.Flags&(net.FlagRunning|net.FlagLoopback) == net.FlagRunning
	})
}

// abandoned reports whether an experiment will not go on by itself, because its unit is disabled:
// krund ended, or a person stopped it.
func (a *app) abandoned(experiment string) bool {
	return a.uid == 0 && !autostart.Installer{FS: a.fsys}.Enabled(experiment)
}

// shipIdle ships what earlier boots could not, and reports that this machine is idle.
func (a *app) shipIdle(ctx context.Context) error {
	lock, err := directory.LockMachine(a.fsys, "krunctl hub ship", a.runtime...)
	if err != nil {
		a.console().Line("nothing to do", "%v", err)
		return nil
	}
	if err := lock.Release(); err != nil { // krund may start: shipping does not disturb its start
		return err
	}
	known := ship.KnownAt(a.fsys, a.state)
	var failed []error
	for _, dir := range known.Directories() {
		var err error
		_, missing := a.fsys.Lstat(dir)
		_, notBegun := a.fsys.Lstat(filepath.Join(dir, "schedule"))
		switch {
		case errors.Is(missing, fs.ErrNotExist): // it was removed or moved
			err = known.Remove(dir)
		case errors.Is(notBegun, fs.ErrNotExist) && joined.IsGiven(dir, a.state): // the hub gives it again
		default:
			err = a.shipOne(ctx, dir, true, false)
		}
		failed = append(failed, err)
	}
	limited, cancel, client, err := a.hub(ctx)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	defer cancel()
	alone, err := a.joinedMachine().Lock()
	if errors.Is(err, durable.ErrLocked) {
		a.console().Line("nothing to do", "another krunctl hub ship begins an experiment")
		return errors.Join(failed...)
	}
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	defer alone.Close() //nolint:errcheck // it has no content
	failed = append(failed, a.joinedMachine().Tidy(client.URL))
	status := a.machineStatus(ctx)
	status.Busy = a.enabled()
	var next *api.Next
	err = ship.Try(limited, sysroot.RealClock{}, func(ctx context.Context) error {
		receipt, err := client.Ship(ctx, api.Ship{Status: status}, nil)
		next = receipt.Orders.Next
		return err
	})
	if err == nil && next != nil {
		var h joined.Hub
		if h, err = joined.Load(a.fsys, a.hubFile); err == nil {
			err = a.begin(ctx, client, *next, h)
		}
	}
	return errors.Join(append(failed, err)...)
}

// machineStatus describes this machine.
func (a *app) machineStatus(ctx context.Context) api.Status {
	m := a.machine(ctx)
	_, err := a.fsys.Lstat(autostart.HoldFile)
	return api.Status{Krund: display.Version(), BootID: m.Boot, Host: a.host,
		Clock: a.now().UTC().Format(time.RFC3339), Held: err == nil, Facts: ship.FactsOf(ctx, m.Host)}
}

// follow does what the hub asks for.
func (a *app) follow(f experiment.Experiment, request string) error {
	switch request {
	case "":
		return nil
	case api.RequestHold:
		a.console().Line("held", "%s, as the hub asks", f.Dir())
		return f.Ask(directory.Hold, a.signature("ship: the hub asks"))
	case api.RequestStop:
		a.console().Line("stopping", "%s, as the hub asks", f.Dir())
		return f.Ask(directory.Stop, a.signature("ship: the hub asks"))
	case api.RequestResume:
		_, err := f.Withdraw(directory.Hold)
		a.console().Line("resumed", "%s, as the hub asks", f.Dir())
		return err
	}
	a.talk("krunctl: the hub asks for %.40q, which this version does not know; install a newer one", request)
	return nil
}
