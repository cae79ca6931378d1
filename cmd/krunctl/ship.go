package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/foreign"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/hub/api"
	"krund/internal/hub/given"
	"krund/internal/hub/joined"
	"krund/internal/hub/ship"
	"krund/internal/machine/command"
	"krund/internal/machine/sysroot"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/trial"
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
		a.console().Line("idle", "%v", err)
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
		a.console().Line("idle", "another krunctl hub ship begins an experiment")
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

// joinedMachine is what this machine keeps of the hub's experiments.
func (a *app) joinedMachine() given.Machine {
	return given.Machine{FS: a.fsys, State: a.state, Host: a.host, Root: a.uid == 0, Build: a.build}
}

// build lets krund run a build of an experiment of the hub. The hub hears of this machine
// meanwhile.
func (a *app) build(ctx context.Context, client *api.Client, b bundle.Build, source, into string) (string,
	error) {
	krund, err := trial.KrundPath()
	if err != nil {
		return "", err
	}
	limit := time.Duration(b.Seconds) * time.Second
	alive, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for (sysroot.RealClock{}).Sleep(alive, time.Minute) == nil {
			status := a.machineStatus(alive)
			status.Busy = true
			_, _ = client.Ship(alive, api.Ship{Status: status}, nil) // in vain: a minute later again
		}
	}()
	const most = 512 << 10
	argv := append([]string{krund, "build", "--time", limit.String(), source, into}, b.Command...)
	output, err := command.Run(ctx, command.Cmd{Argv: argv, Timeout: limit + beginTime, Output: most,
		Interrupt: true, WithParent: syscall.SIGUSR1})
	if err == nil || ctx.Err() != nil {
		return output, err
	}
	a.talk("%s", output)
	const failed, words = 4, 700 // krund's status; bytes of what the hub keeps of a reason
	last := strings.TrimSpace(output)
	last = strings.ToValidUTF8(strings.ReplaceAll(last[max(0, len(last)-words):], "\n", " | "), "")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != failed {
		return output, fmt.Errorf("build %s: %s; %w", b.Directory, last, given.ErrAgain)
	}
	return output, fmt.Errorf("build %s: %s", b.Directory, last)
}

// longestRun bounds an experiment that krunctl waits for: one without root.
const longestRun = 365 * 24 * time.Hour

// begin starts the part of an experiment that the hub gives to this machine. It can be repeated
// after a crash at any point: the hub gives the part again until it has heard of it. What cannot be
// started is reported to the hub as failed, so that another machine gets the part. A bundle that
// did not arrive is fetched again the next time.
func (a *app) begin(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) error {
	err := a.beginWithin(ctx, client, n, hub)
	if err == nil || errors.Is(err, given.ErrAgain) {
		return err
	}
	hash := sha256.Sum256(nil) // no configuration was accepted
	failed := api.ShippedExperiment{ID: n.Experiment, Name: n.Name, ConfigHash: hex.EncodeToString(hash[:]),
		Progress: api.Progress{Left: 1, Ended: true, Reason: display.Clip(err.Error(), display.MaxMessage)}}
	message := api.Ship{Status: a.machineStatus(ctx), Experiment: &failed}
	_, reported := client.Ship(ctx, message, nil)
	if reported == nil { // the hub does not give it again
		reported = a.joinedMachine().Store(client.URL).Forget(n.Experiment)
	}
	return errors.Join(fmt.Errorf("begin %s, experiment %s of the hub: %w", n.Name, n.Experiment, err),
		reported)
}

// beginTime bounds what root does to begin an experiment, which may name files that do not answer.
const beginTime = 10 * time.Minute

// beginWithin is beginPart with that limit. Without root, beginning is also running.
func (a *app) beginWithin(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) error {
	if !api.ValidName(n.Experiment) || n.Index < 0 || n.Index >= n.Count || n.Count > api.MaxMachines {
		return errors.New("the hub's answer is not valid; is it of another version?")
	}
	path, err := a.joinedMachine().Unpack(ctx, client, n, hub) // its builds have their own limits
	if err != nil {
		return err
	}
	if a.uid != 0 {
		return a.beginPart(ctx, client, n, path)
	}
	limited, cancel := foreign.Limited(ctx, beginTime)
	defer cancel()
	failed, late := foreign.Within(limited, func() error { return a.beginPart(limited, client, n, path) })
	return errors.Join(failed, late)
}

func (a *app) beginPart(ctx context.Context, client *api.Client, n api.Next, path string) error {
	if _, err := a.fsys.Lstat(path); errors.Is(err, fs.ErrNotExist) { // it has ended here
		return a.endedBefore(ctx, directory.For(path))
	}
	cfg, err := config.Load(path, a.host, doctor.Settings())
	if err != nil {
		return err
	}
	begun, err := a.joinedMachine().Note(path, client.URL, n.Experiment, false)
	if err != nil {
		return err
	}
	if p, err := summary.PlanOf(ctx, a.fsys, cfg, path); err == nil && p.Finished == p.SlotsTotal {
		return a.shipOne(ctx, p.Directory, true, false) // the hub has not heard of its end
	}
	if a.uid == 0 {
		if begun && a.abandoned(cfg.Experiment.Name) {
			return a.endedBefore(ctx, directory.For(path))
		}
		if err := a.enable(ctx, path, unitOptions{start: true, yes: true}); err != nil {
			return errors.Join(err, autostart.Installer{FS: a.fsys, Systemctl: a.systemctl}.
				Unlink(ctx, cfg.Experiment.Name))
		}
		_, err = a.joinedMachine().Note(path, client.URL, n.Experiment, true)
		return err
	}
	krund, err := trial.KrundPath()
	if err == nil {
		err = ship.KnownAt(a.fsys, a.state).Add(directory.For(path)) // it is needed until it was shipped
	}
	if err != nil {
		return err
	}
	_, err = command.Run(ctx, command.Cmd{Argv: []string{krund, "run", path}, Timeout: longestRun,
		Interrupt: true})
	return err
}

// endedBefore reports the end of an experiment in dir that was begun on this machine before and is
// not enabled any more. If it has no schedule, krund could not open it: the error is why, as far as
// its log tells.
func (a *app) endedBefore(ctx context.Context, dir string) error {
	if _, err := a.fsys.Lstat(filepath.Join(dir, "schedule")); err == nil {
		return a.shipOne(ctx, dir, true, false)
	}
	why := "the journal of its unit has the reason"
	if d, err := directory.Open(a.fsys, dir); err == nil {
		why = cmp.Or(ship.LastError(d), why)
	}
	return fmt.Errorf("it was begun on this machine, and is not enabled any more: %s", why)
}

// enabled reports whether an experiment waits for the next boot of this machine.
func (a *app) enabled() bool {
	others, err := autostart.Installer{FS: a.fsys}.Others("")
	return err != nil || len(others) > 0
}
