// Package joined is the hub that this machine has joined: its address, and what the machine's owner
// lets experiments of the hub do. Both are in one file, hub.toml, which only root can read.
//
// Start reading at Load and Refused.
package joined

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"krund/internal/durable"
	"krund/internal/experiment/config"
)

// File is the path of the file that `krunctl hub join` writes: while it exists, krund ships after
// each process execution. Only root can read it.
const File = "/etc/krund/hub.toml"

// Hub is the contents of File.
type Hub struct {
	URL      string `toml:"url"`
	Token    string `toml:"token"`
	Deadline string `toml:"deadline"` // how long a shipment may take, such as "30s"
	// Allow names what experiments of the hub may make root do here: see AllowNames.
	Allow []string `toml:"allow"`
	// MaxExecution is how long an execution of such an experiment may take, such as "2h".
	MaxExecution string `toml:"max_execution"`
}

// Limits of Hub.Deadline.
const (
	defaultDeadline = 30 * time.Second
	LongestDeadline = 10 * time.Minute
)

// Load reads the file at path. The error wraps fs.ErrNotExist if the machine has not joined a
// hub.
func Load(fsys durable.FS, path string) (Hub, error) {
	const most = 64 << 10
	text, err := durable.ReadSmallFile(fsys, path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return Hub{},
			fmt.Errorf("this machine has not joined a hub: %w; run `krunctl hub join URL --token-file "+
				"FILE`", err)
	}
	if err != nil {
		return Hub{}, fmt.Errorf("read the address of the hub: %w", err)
	}
	var h Hub
	meta, err := toml.Decode(string(text), &h)
	if err != nil {
		return h, fmt.Errorf("%s: %w; run `krunctl hub join` again", path, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return h, fmt.Errorf("%s: there is no key %s; correct its name, or remove it", path, unknown[0])
	}
	_, err = h.Limit()
	if err == nil {
		_, err = h.Longest()
	}
	if err != nil {
		return h, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range h.Allow {
		if !slices.Contains(AllowNames(), name) {
			return h, fmt.Errorf("%s: allow has %q; it can have %q", path, name, AllowNames())
		}
	}
	return h, nil
}

// Limit returns the deadline.
func (h Hub) Limit() (time.Duration, error) {
	if h.Deadline == "" {
		return defaultDeadline, nil
	}
	d, err := time.ParseDuration(h.Deadline)
	if err != nil || d <= 0 || d > LongestDeadline {
		return 0, fmt.Errorf("deadline = %q is not between 1s and %s", h.Deadline, LongestDeadline)
	}
	return d, nil
}

// Store writes the file durably, for its owner only, and creates its directory.
func (h Hub) Store(fsys durable.FS, path string) error {
	const ownerReads = 0o600
	err := durable.MkdirAll(fsys, filepath.Dir(path))
	if err == nil {
		text := fmt.Sprintf("# written by krunctl hub join\nurl = %q\ntoken = %q\ndeadline = %q\nallow = [",
			h.URL, h.Token, h.Deadline)
		for _, name := range h.Allow {
			text += fmt.Sprintf("%q, ", name)
		}
		text += "] # what experiments of the hub may make root do: see krunctl hub ship --help\n"
		if h.MaxExecution != "" {
			text += fmt.Sprintf("max_execution = %q\n", h.MaxExecution)
		}
		err = durable.WriteFile(fsys, path, []byte(text), ownerReads)
	}
	if err != nil {
		return fmt.Errorf("store the address of the hub: %w", err)
	}
	return nil
}

// StateDirectory is the directory of what must survive a crash and belongs to no experiment.
const StateDirectory = "/var/lib/krund"

// Given returns the directory in which krunctl unpacks the experiments that the hub gives to this
// machine, one below the other.
func Given(state string) string { return filepath.Join(state, "hub") }

// IsGiven reports whether the configuration at path, which is absolute, came from the hub.
func IsGiven(path, state string) bool { return strings.HasPrefix(path, Given(state)+"/") }

// DefaultExecution is Hub.MaxExecution unless the owner says otherwise.
const DefaultExecution = "2h"

// maxExecution is the key of hub.toml.
const maxExecution = "max_execution"

// Longest returns how long an execution of an experiment of the hub may take, and each of its
// waits; 0 is any time.
func (h Hub) Longest() (time.Duration, error) {
	const unlimited = "none"
	if h.MaxExecution == unlimited {
		return 0, nil
	}
	d, err := config.ParseDuration(cmp.Or(h.MaxExecution, DefaultExecution))
	if err != nil {
		return 0, fmt.Errorf("%s = %q is %w; write a duration, such as %q, or %q", maxExecution,
			h.MaxExecution, err, DefaultExecution, unlimited)
	}
	return d, nil
}

// Bound returns the configuration of an experiment of the hub as this machine runs it, with the
// owner's limits of time. It is an error if root may not run it, or if a wait is longer than these
// limits. cfg must be read for the name that the machine has now: a configuration may have sections
// for any name.
func (h Hub) Bound(cfg *config.Config) (*config.Config, error) {
	longest, err := h.Longest()
	if err != nil {
		return nil, err
	}
	bound := cfg.WithLongest(longest, maxExecution+" of this machine's hub.toml")
	var long []error
	for _, w := range []struct {
		key  string
		wait time.Duration
	}{
		{"wait.startup", cfg.Wait.Startup}, {"wait.settle", cfg.Wait.Settle}, {"wait.sync", cfg.Wait.Sync},
		{"temperature.base_wait", cfg.Temperature.BaseWait},
	} {
		if longest > 0 && w.wait > longest {
			long = append(long, fmt.Errorf("%s: this machine's owner does not allow %s = %s: at most %s; "+
				"write less, or change %s in the machine's hub.toml", cfg.Experiment.Name, w.key, w.wait,
				longest, maxExecution))
		}
	}
	if err := errors.Join(append(long, Refused(cfg, h.Allow))...); err != nil {
		return nil, err
	}
	return bound, nil
}

// What a configuration of another user can make root do. The owner of a machine allows each by its
// name.
const (
	AllowHooks    = "hooks"    // commands as root
	AllowNotify   = "notify"   // commands as root, mails, requests to other servers
	AllowBoot     = "boot"     // another entry of the boot loader
	AllowServices = "services" // services stopped, such as the one that one logs in by
	AllowNetwork  = "network"  // network interfaces taken down
	AllowCaller   = "caller"   // benchmarks run as the user who runs krund: as root
)

// AllowNames are the names above.
func AllowNames() []string {
	return []string{AllowHooks, AllowNotify, AllowBoot, AllowServices, AllowNetwork, AllowCaller}
}

// Refused returns an error if root may not run the configuration of another user, because it
// demands something that is not in allowed. All else in a configuration is run by the benchmark's
// account, or is a setting that krund restores.
func Refused(cfg *config.Config, allowed []string) error {
	n := cfg.Notify
	stops := func(control, option string) bool {
		demand := cfg.Control(control)
		return demand.Policy.Changes() && len(demand.List(option)) > 0
	}
	var refused []string
	for _, demand := range []struct {
		name, keys string
		is         bool
	}{
		{AllowHooks, "[hooks]", len(cfg.Hooks.Before)+len(cfg.Hooks.After) > 0},
		{AllowNotify, "[notify]", len(n.Mail)+len(n.Command) > 0 || n.Webhook != ""},
		{AllowBoot, "boot.entry", cfg.Boot.Entry != ""},
		{AllowServices, "controls.services", stops("services", "stop")},
		{AllowNetwork, "controls.network", stops("network", "down")},
		{AllowCaller, `experiment.account = "caller"`, cfg.Experiment.Account != config.AccountFresh},
	} {
		if demand.is && !slices.Contains(allowed, demand.name) {
			refused = append(refused, fmt.Sprintf("%s (%q)", demand.keys, demand.name))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return fmt.Errorf("%s: this machine's owner does not allow %s; remove that from the configuration, or "+
		"add the name to allow in the machine's hub.toml", cfg.Experiment.Name, strings.Join(refused, ", "))
}
