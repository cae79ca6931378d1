package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"krund/internal/autostart"
	"krund/internal/bundle"
	"krund/internal/command"
	"krund/internal/config"
	"krund/internal/directory"
	"krund/internal/display"
	"krund/internal/doctor"
	"krund/internal/durable"
	"krund/internal/hub/api"
	"krund/internal/joined"
	"krund/internal/ship"
	"krund/internal/summary"
)

// longestRun bounds an experiment that krunctl waits for: one without root.
const longestRun = 365 * 24 * time.Hour

// begin starts the part of an experiment that the hub gives to this machine. It can be repeated
// after a crash at any point: the hub gives the part again until it has heard of it. What cannot be
// started is reported to the hub as failed, so that another machine gets the part. A bundle that
// did not arrive is fetched again the next time.
func (a *app) begin(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) error {
	err := a.beginPart(ctx, client, n, hub)
	if err == nil || errors.Is(err, errFetch) {
		return err
	}
	hash := sha256.Sum256(nil) // no configuration was accepted
	failed := api.Experiment{ID: n.Experiment, Name: n.Name, ConfigHash: hex.EncodeToString(hash[:]),
		Progress: api.Progress{Left: 1, Ended: true, Reason: display.Clip(err.Error(), display.MaxMessage)}}
	message := api.Ship{Status: a.machineStatus(ctx), Experiment: &failed}
	_, reported := client.Ship(ctx, message, nil)
	return errors.Join(fmt.Errorf("begin %s, experiment %s of the hub: %w", n.Name, n.Experiment, err),
		reported)
}

// errFetch is the error of a bundle that did not arrive.
var errFetch = errors.New("the bundle did not arrive; the next shipment tries again")

func (a *app) beginPart(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) error {
	if !api.ValidName(n.Experiment) || n.Index < 0 || n.Index >= n.Count || n.Count > api.MaxMachines {
		return errors.New("the hub's answer is not valid; is it of another version?")
	}
	all := joined.Given(a.state)
	if err := durable.MkdirAll(a.fsys, all); err != nil {
		return err
	}
	m, err := a.unpack(ctx, client, n, filepath.Join(all, n.Experiment))
	if err != nil {
		return err
	}
	path := filepath.Join(all, n.Experiment, filepath.FromSlash(m.Config))
	cfg, err := config.Load(path, a.host, doctor.Settings())
	if err != nil {
		return err
	}
	if a.uid == 0 {
		_, err = hub.Bound(cfg)
		err = errors.Join(err, a.ownName(cfg))
	}
	if err == nil {
		err = a.ofHub(path, client.URL, n.Experiment)
	}
	if err != nil {
		return err
	}
	if p, err := summary.PlanOf(ctx, a.fsys, cfg, path); err == nil && p.Finished == p.SlotsTotal {
		return a.shipOne(ctx, p.Directory, true) // the hub has not heard of its end
	}
	if a.uid == 0 {
		return a.enable(ctx, path, unitOptions{start: true, yes: true})
	}
	krund, err := krundPath()
	if err != nil {
		return err
	}
	_, err = command.Run(ctx, command.Cmd{Argv: []string{krund, "run", path}, Timeout: longestRun,
		Interrupt: true})
	return err
}

// unpack fetches and unpacks a bundle into dir, unless that was done before, and returns the
// manifest.
func (a *app) unpack(ctx context.Context, client *api.Client, n api.Next, dir string) (
	bundle.Manifest, error) {
	file, err := os.CreateTemp(filepath.Dir(dir), "bundle-*.tmp")
	if err != nil {
		return bundle.Manifest{}, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is temporary
	defer file.Close()           //nolint:errcheck // it is temporary
	content, err := client.Blob(ctx, n.Bundle)
	if ship.Refused(err) {
		return bundle.Manifest{}, err
	}
	if err != nil {
		return bundle.Manifest{}, fmt.Errorf("%w: %w", errFetch, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(content, api.MaxBlob)); err != nil {
		return bundle.Manifest{}, fmt.Errorf("%w: %w", errFetch, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != n.Bundle {
		return bundle.Manifest{}, fmt.Errorf("%w: what arrived does not have its hash", errFetch)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return bundle.Manifest{}, err
	}
	if _, err := os.Lstat(dir); err == nil {
		return bundle.Read(file, func(*bundle.Manifest, bundle.File, io.Reader) error { return nil })
	} else if !errors.Is(err, fs.ErrNotExist) {
		return bundle.Manifest{}, err
	}
	return bundle.Unpack(file, dir, func(text []byte) ([]byte, error) {
		return config.WithShard(text, n.Index, n.Count), nil
	})
}

// ownName returns an error if an experiment of the machine's owner has the name: enabling this one
// would replace it.
func (a *app) ownName(cfg *config.Config) error {
	i, err := a.installer("")
	if err != nil {
		return err
	}
	name := autostart.UnitName(cfg.Experiment.Name)
	if path, known := i.UnitConfig(name); known && path != cfg.Path {
		return fmt.Errorf("this machine has %s already, for %s; give the experiment another name", name, path)
	}
	return nil
}

// ofHub notes in the experiment's directory that it is one of the hub.
func (a *app) ofHub(path, hub, id string) error {
	d, err := directory.Create(a.fsys, directory.For(path))
	if err != nil {
		return err
	}
	m, err := ship.Load(a.fsys, d.Hub(), hub)
	if err != nil || m.Experiment != "" {
		return err
	}
	m.Experiment, m.Given = id, true
	return m.Store(a.fsys, d.Hub())
}

// enabled reports whether an experiment waits for the next boot of this machine.
func (a *app) enabled() bool {
	others, err := autostart.Installer{FS: a.fsys}.Others("")
	return err != nil || len(others) > 0
}
