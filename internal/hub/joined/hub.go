// Package joined is the hub that this machine has joined: its address, and what the machine's owner
// lets experiments of the hub do. Both are in one file, hub.toml, which only root can read.
//
// Start reading at Load and Refused.
package joined

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"krund/internal/durable"
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
