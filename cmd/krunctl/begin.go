package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/display"
	"krund/internal/durable"
	"krund/internal/durable/foreign"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/hub/api"
	"krund/internal/hub/given"
	"krund/internal/hub/joined"
	"krund/internal/hub/ship"
	"krund/internal/machine/command"
	"krund/internal/reading/summary"
	"krund/internal/trial"
)

// longestRun bounds an experiment that krunctl waits for: one without root.
const longestRun = 365 * 24 * time.Hour

// begin starts the part of an experiment that the hub gives to this machine. It can be repeated
// after a crash at any point: the hub gives the part again until it has heard of it. What cannot be
// started is reported to the hub as failed, so that another machine gets the part. A bundle that
// did not arrive is fetched again the next time.
func (a *app) begin(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) error {
	err := a.beginWithin(ctx, client, n, hub)
	if err == nil || errors.Is(err, errFetch) {
		return err
	}
	hash := sha256.Sum256(nil) // no configuration was accepted
	failed := api.Experiment{ID: n.Experiment, Name: n.Name, ConfigHash: hex.EncodeToString(hash[:]),
		Progress: api.Progress{Left: 1, Ended: true, Reason: display.Clip(err.Error(), display.MaxMessage)}}
	message := api.Ship{Status: a.machineStatus(ctx), Experiment: &failed}
	_, reported := client.Ship(ctx, message, nil)
	if reported == nil { // the hub does not give it again
		reported = a.givenStore(client.URL).Forget(n.Experiment)
	}
	return errors.Join(fmt.Errorf("begin %s, experiment %s of the hub: %w", n.Name, n.Experiment, err),
		reported)
}

// beginTime bounds what root does to begin an experiment, which may name files that do not answer.
const beginTime = 10 * time.Minute

// beginWithin is beginPart with that limit. Without root, beginning is also running.
func (a *app) beginWithin(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) error {
	if a.uid != 0 {
		return a.beginPart(ctx, client, n, hub)
	}
	limited, cancel := foreign.Limited(ctx, beginTime)
	defer cancel()
	failed, late := foreign.Within(limited, func() error { return a.beginPart(limited, client, n, hub) })
	return errors.Join(failed, late)
}

// errFetch is the error of a bundle that did not arrive.
var errFetch = errors.New("the bundle did not arrive; the next shipment tries again")

func (a *app) beginPart(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) error {
	if !api.ValidName(n.Experiment) || n.Index < 0 || n.Index >= n.Count || n.Count > api.MaxMachines {
		return errors.New("the hub's answer is not valid; is it of another version?")
	}
	path, err := a.unpack(ctx, client, n, hub)
	if err != nil {
		return err
	}
	if _, err := a.fsys.Lstat(path); errors.Is(err, fs.ErrNotExist) { // it has ended here
		return a.endedBefore(ctx, directory.For(path))
	}
	cfg, err := config.Load(path, a.host, doctor.Settings())
	if err != nil {
		return err
	}
	begun, err := a.ofHub(path, client.URL, n.Experiment, false)
	if err != nil {
		return err
	}
	if p, err := summary.PlanOf(ctx, a.fsys, cfg, path); err == nil && p.Finished == p.SlotsTotal {
		return a.shipOne(ctx, p.Directory, true) // the hub has not heard of its end
	}
	if a.uid == 0 {
		if begun && a.abandoned(cfg.Experiment.Name) {
			return a.endedBefore(ctx, directory.For(path))
		}
		if err := a.enable(ctx, path, unitOptions{start: true, yes: true}); err != nil {
			return errors.Join(err, autostart.Installer{FS: a.fsys, Systemctl: a.systemctl}.
				Unlink(ctx, cfg.Experiment.Name))
		}
		_, err = a.ofHub(path, client.URL, n.Experiment, true)
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

// givenStore returns the experiments of the hub at this address on this machine.
func (a *app) givenStore(hub string) given.Store {
	return given.Store{FS: a.fsys, Dir: joined.Given(a.state), Hub: hub, Most: given.Most,
		Needed: func(dir string) bool {
			inside := func(path string) bool { return strings.HasPrefix(path, dir+"/") }
			if slices.ContainsFunc(ship.KnownAt(a.fsys, a.state).Directories(), inside) {
				return true // not everything was shipped
			}
			i := autostart.Installer{FS: a.fsys}
			units, err := i.Others("")
			return err != nil || slices.ContainsFunc(units, func(unit string) bool {
				path, known := i.UnitConfig(unit)
				return !known || inside(path)
			})
		}}
}

// unpack fetches and unpacks a bundle, unless that was done before, and returns the path of the
// configuration. The configuration is judged before anything else is unpacked.
func (a *app) unpack(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) (string, error) {
	store := a.givenStore(client.URL)
	if err := durable.MkdirAll(a.fsys, store.Dir); err != nil {
		return "", err
	}
	file, err := store.Temporary()
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is temporary
	defer file.Close()           //nolint:errcheck // it is temporary
	content, err := client.Blob(ctx, n.Bundle)
	if ship.Refused(err) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", errFetch, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(content, api.MaxBlob)); err != nil {
		return "", fmt.Errorf("%w: %w", errFetch, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != n.Bundle {
		return "", fmt.Errorf("%w: what arrived does not have its hash", errFetch)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return store.Unpack(file, n.Experiment,
		func(text []byte) []byte { return config.WithShard(text, n.Index, n.Count) },
		func(path string, text []byte) error {
			cfg, err := config.Stored(path, text, a.host, doctor.Settings())
			if err != nil || a.uid != 0 {
				return err
			}
			_, err = hub.Bound(cfg)
			return errors.Join(err, a.ownName(cfg))
		})
}

// endedBefore reports the end of an experiment in dir that was begun on this machine before and is
// not enabled any more. If it has no schedule, krund could not open it: the error is why, as far as
// its log tells.
func (a *app) endedBefore(ctx context.Context, dir string) error {
	if _, err := a.fsys.Lstat(filepath.Join(dir, "schedule")); err == nil {
		return a.shipOne(ctx, dir, true)
	}
	why := "the journal of its unit has the reason"
	if d, err := directory.Open(a.fsys, dir); err == nil {
		why = cmp.Or(ship.LastError(d), why)
	}
	return fmt.Errorf("it was begun on this machine, and is not enabled any more: %s", why)
}

// ownName returns an error if an experiment of the machine's owner, or another one that waits, has
// the name: enabling this one would replace it.
func (a *app) ownName(cfg *config.Config) error {
	i, err := a.installer("")
	if err != nil {
		return err
	}
	name := autostart.UnitName(cfg.Experiment.Name)
	path, known := i.UnitConfig(name)
	ended := joined.IsGiven(path, a.state) && !i.Enabled(cfg.Experiment.Name)
	if known && path != cfg.Path && !ended {
		return fmt.Errorf("this machine has %s already, for %s; give the experiment another name", name, path)
	}
	return nil
}

// ofHub notes in the experiment's directory that it is one of the hub, and whether it is begun, and
// returns whether it was begun before.
func (a *app) ofHub(path, hub, id string, begun bool) (before bool, err error) {
	d, err := directory.Create(a.fsys, directory.For(path))
	if err != nil {
		return false, err
	}
	m, err := ship.Load(a.fsys, d.Hub(), hub)
	if err != nil || m.Experiment != "" && m.Begun == begun {
		return m.Begun, err
	}
	before = m.Begun
	if m.Experiment == "" {
		m.Experiment, m.Given = id, true
	}
	m.Begun = m.Begun || begun
	return before, m.Store(a.fsys, d.Hub())
}

// enabled reports whether an experiment waits for the next boot of this machine.
func (a *app) enabled() bool {
	others, err := autostart.Installer{FS: a.fsys}.Others("")
	return err != nil || len(others) > 0
}

// lockGiven takes the lock of the experiments of the hub on this machine; closing the file releases
// it.
func (a *app) lockGiven() (durable.File, error) {
	const ownerOnly = 0o600
	path := joined.Given(a.state) + ".lock"
	if err := durable.MkdirAll(a.fsys, filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := a.fsys.OpenFile(path, os.O_RDWR|os.O_CREATE, ownerOnly)
	if err != nil {
		return nil, err
	}
	if err := durable.Lock(file); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// tidyGiven removes what experiments of the hub have left on this machine.
func (a *app) tidyGiven(hub string) error {
	err := a.givenStore(hub).Tidy()
	if a.uid == 0 {
		err = errors.Join(err, autostart.Installer{FS: a.fsys}.Forget(func(config string) bool {
			_, missing := a.fsys.Lstat(config)
			return joined.IsGiven(config, a.state) && errors.Is(missing, fs.ErrNotExist)
		}))
	}
	return err
}
