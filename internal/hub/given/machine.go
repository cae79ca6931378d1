package given

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
	"slices"
	"strings"
	"time"

	"krund/internal/boot/autostart"
	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/bundle"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/hub/api"
	"krund/internal/hub/joined"
	"krund/internal/hub/ship"
)

// Machine is what this machine keeps of the hub's experiments.
type Machine struct {
	FS    durable.FS
	State string // directory of what must survive a crash
	Host  string // name of the machine
	Root  bool   // the caller is root, and begins experiments for the machine's owner
	// Build is the Builder; its error wraps ErrAgain if it is not the build that has failed.
	Build func(ctx context.Context, client *api.Client, b bundle.Build, source, into string) (string, error)
}

// ErrAgain is the error of what the next shipment tries again.
var ErrAgain = errors.New("the next shipment tries again")

// fetchTime bounds how long a bundle may take to arrive.
const fetchTime = 10 * time.Minute

// Store returns the experiments of the hub at this address on this machine.
func (m Machine) Store(hub string) Store {
	return Store{FS: m.FS, Dir: joined.Given(m.State), Hub: hub, Most: Most,
		Needed: func(dir string) bool {
			inside := func(path string) bool { return strings.HasPrefix(path, dir+"/") }
			if slices.ContainsFunc(ship.KnownAt(m.FS, m.State).Directories(), inside) {
				return true // not everything was shipped
			}
			i := autostart.Installer{FS: m.FS}
			units, err := i.Others("")
			return err != nil || slices.ContainsFunc(units, func(unit string) bool {
				path, known := i.UnitConfig(unit)
				return !known || inside(path)
			})
		}}
}

// Unpack fetches and unpacks a bundle, unless that was done before, and returns the path of the
// configuration. The configuration is judged before anything else is unpacked.
func (m Machine) Unpack(ctx context.Context, client *api.Client, n api.Next, hub joined.Hub) (string, error) {
	store := m.Store(client.URL)
	if err := durable.MkdirAll(m.FS, store.Dir); err != nil {
		return "", err
	}
	file, err := store.Temporary()
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is temporary
	defer file.Close()           //nolint:errcheck // it is temporary
	fetch, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	content, err := client.Blob(fetch, n.Bundle)
	if ship.Refused(err) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("the bundle did not arrive; %w: %w", ErrAgain, err)
	}
	defer content.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(content, api.MaxBlob)); err != nil {
		return "", fmt.Errorf("the bundle did not arrive; %w: %w", ErrAgain, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != n.Bundle {
		return "", fmt.Errorf("the bundle that arrived does not have its hash; %w", ErrAgain)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	return store.Unpack(file, n.Experiment,
		func(text []byte) []byte { return config.WithShard(text, n.Index, n.Count) },
		func(path string, text []byte) error {
			cfg, err := config.Stored(path, text, m.Host, doctor.Settings())
			if err != nil || !m.Root {
				return err
			}
			_, err = hub.Bound(cfg)
			return errors.Join(err, m.OwnName(cfg))
		}, func(b bundle.Build, source, into string) (string, error) {
			longest, err := hub.Longest()
			if err != nil {
				return "", err
			}
			if most := int64(longest / time.Second); m.Root && longest > 0 {
				b.Seconds = min(b.Seconds, max(most, 1))
			}
			return m.Build(ctx, client, b, source, into)
		})
}

// OwnName returns an error if an experiment of the machine's owner, or another one that waits, has
// the name: enabling this one would replace it.
func (m Machine) OwnName(cfg *config.Config) error {
	i := autostart.Installer{FS: m.FS}
	name := autostart.UnitName(cfg.Experiment.Name)
	path, known := i.UnitConfig(name)
	ended := joined.IsGiven(path, m.State) && !i.Enabled(cfg.Experiment.Name)
	if known && path != cfg.Path && !ended {
		return fmt.Errorf("this machine has %s already, for %s; give the experiment another name", name, path)
	}
	return nil
}

// Note notes in the experiment's directory that it is one of the hub, and whether it is begun, and
// returns whether it was begun before.
func (m Machine) Note(path, hub, id string, begun bool) (before bool, err error) {
	d, err := directory.Create(m.FS, directory.For(path))
	if err != nil {
		return false, err
	}
	e, err := ship.Load(m.FS, d.Hub(), hub)
	if err != nil || e.Experiment != "" && e.Begun == begun {
		return e.Begun, err
	}
	before = e.Begun
	if e.Experiment == "" {
		e.Experiment, e.Given = id, true
	}
	e.Begun = e.Begun || begun
	return before, e.Store(m.FS, d.Hub())
}

// Lock takes the lock of the experiments of the hub on this machine; closing the file releases
// it.
func (m Machine) Lock() (durable.File, error) {
	const ownerOnly = 0o600
	path := joined.Given(m.State) + ".lock"
	if err := durable.MkdirAll(m.FS, filepath.Dir(path)); err != nil {
		return nil, err
	}
	file, err := m.FS.OpenFile(path, os.O_RDWR|os.O_CREATE, ownerOnly)
	if err != nil {
		return nil, err
	}
	if err := file.TryLock(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Tidy removes what experiments of the hub have left on this machine.
func (m Machine) Tidy(hub string) error {
	err := m.Store(hub).Tidy()
	if m.Root {
		err = errors.Join(err, autostart.Installer{FS: m.FS}.Forget(func(config string) bool {
			_, missing := m.FS.Lstat(config)
			return joined.IsGiven(config, m.State) && errors.Is(missing, fs.ErrNotExist)
		}))
	}
	return err
}
