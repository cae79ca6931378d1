package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/display"
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
	"krund/internal/reading/summary"
	"krund/internal/trial"
)

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
