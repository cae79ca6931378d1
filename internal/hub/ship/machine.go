package ship

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"krund/internal/durable"
	"krund/internal/hub/api"
	"krund/internal/machine/sysroot"
)

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
