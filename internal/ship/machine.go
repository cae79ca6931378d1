package ship

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"krund/internal/bundle"
	"krund/internal/durable"
	"krund/internal/hub/api"
	"krund/internal/sysroot"
)

// HubFile is the path of the file that `krunctl join` writes: while it exists, krund ships after
// each process execution. Only root can read it.
const HubFile = "/etc/krund/hub.toml"

// Hub is the contents of HubFile.
type Hub struct {
	URL      string `toml:"url"`
	Token    string `toml:"token"`
	Deadline string `toml:"deadline"` // how long a shipment may take, such as "30s"
	// Allow names what experiments of the hub may make root do here: see bundle.AllowNames.
	Allow []string `toml:"allow"`
}

// Limits of Hub.Deadline.
const (
	defaultDeadline = 30 * time.Second
	LongestDeadline = 10 * time.Minute
)

// LoadHub reads the file at path. The error wraps fs.ErrNotExist if the machine has not joined a
// hub.
func LoadHub(fsys durable.FS, path string) (Hub, error) {
	const most = 64 << 10
	text, err := durable.ReadSmallFile(fsys, path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return Hub{}, fmt.Errorf("this machine has not joined a hub: %w; run `krunctl join URL --token-file "+
			"FILE`", err)
	}
	if err != nil {
		return Hub{}, fmt.Errorf("read the address of the hub: %w", err)
	}
	var h Hub
	meta, err := toml.Decode(string(text), &h)
	if err != nil {
		return h, fmt.Errorf("%s: %w; run `krunctl join` again", path, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return h, fmt.Errorf("%s: there is no key %s; correct its name, or remove it", path, unknown[0])
	}
	if _, err := h.Limit(); err != nil {
		return h, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range h.Allow {
		if !slices.Contains(bundle.AllowNames(), name) {
			return h, fmt.Errorf("%s: allow has %q; it can have %q", path, name, bundle.AllowNames())
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
		text := fmt.Sprintf("# written by krunctl join\nurl = %q\ntoken = %q\ndeadline = %q\nallow = [",
			h.URL, h.Token, h.Deadline)
		for _, name := range h.Allow {
			text += fmt.Sprintf("%q, ", name)
		}
		text += "] # what experiments of the hub may make root do: see krunctl ship --help\n"
		err = durable.WriteFile(fsys, path, []byte(text), ownerReads)
	}
	if err != nil {
		return fmt.Errorf("store the address of the hub: %w", err)
	}
	return nil
}

// Try calls do until it succeeds, the hub refuses the request, or ctx ends: after the benchmark,
// the network may need some seconds. It waits a second, and then twice as long each time.
func Try(ctx context.Context, clock sysroot.Clock, do func(context.Context) error) error {
	const longest = 30 * time.Second
	for wait := time.Second; ; wait = min(2*wait, longest) {
		err := do(ctx)
		if err == nil || Refused(err) || clock.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// Refused reports whether an error is the hub's answer, and would be again. Other errors are of
// connections, or of a hub that cannot answer now.
func Refused(err error) bool {
	var answer *api.Error
	return errors.As(err, &answer) && answer.Refused()
}

// Known is the list of the directories that this machine ships, so that an idle machine sends what
// the last boots could not, and finds what it is to hold, resume or stop.
type Known struct {
	fsys durable.FS
	path string
}

// KnownAt returns the list in the directory dir of what must survive.
func KnownAt(fsys durable.FS, dir string) Known { return Known{fsys, filepath.Join(dir, "hub.json")} }

// Directories returns the list; none if the file is missing or damaged: krund adds a directory
// whenever it ships.
func (k Known) Directories() []string {
	var list []string
	text, err := durable.ReadSmallFile(k.fsys, k.path, api.MaxJSON)
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list
}

// Add adds a directory.
func (k Known) Add(dir string) error {
	const most = 100 // the oldest are forgotten
	list := k.Directories()
	if slices.Contains(list, dir) {
		return nil
	}
	list = append(list, dir)
	return k.store(list[max(0, len(list)-most):])
}

// Remove removes a directory of which the hub has everything.
func (k Known) Remove(dir string) error {
	list := k.Directories()
	if !slices.Contains(list, dir) {
		return nil
	}
	return k.store(slices.DeleteFunc(list, func(other string) bool { return other == dir }))
}

func (k Known) store(list []string) error {
	text, err := json.Marshal(list)
	if err == nil {
		err = durable.MkdirAll(k.fsys, filepath.Dir(k.path))
	}
	if err == nil {
		const ownerReads = 0o600
		err = durable.WriteFile(k.fsys, k.path, append(text, '\n'), ownerReads)
	}
	if err != nil {
		return fmt.Errorf("store which directories are shipped: %w", err)
	}
	return nil
}
