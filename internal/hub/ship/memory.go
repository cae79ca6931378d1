package ship

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
	"krund/internal/machine/sysroot"
)

// Memory is the contents of hub.json: what the hub has of an experiment. It may lag behind the hub.
type Memory struct {
	Format     int               `json:"format"`
	Hub        string            `json:"hub"`        // its address; another hub has nothing yet
	Experiment string            `json:"experiment"` // its id; "" before the first receipt
	Given      bool              `json:"given"`      // the experiment came from the hub
	Begun      bool              `json:"begun"`      // and was enabled on this machine
	Deleted    bool              `json:"deleted"`    // and was deleted there: nothing more is sent
	Config     string            `json:"config"`     // config_hash of what was shipped
	Created    string            `json:"created"`    // of the schedule that was shipped
	Received   []Range           `json:"received"`
	Files      map[string]string `json:"files"` // SHA-256 by name
}

// Range is the slots From to To of which the hub has the record of an attempt.
type Range struct {
	Attempt int `json:"attempt"`
	From    int `json:"from"`
	To      int `json:"to"`
}

const memoryFormat = 1

// Load reads the memory of what the hub at this address has. Without a file, after damage, or with
// another hub, it is empty.
func Load(fsys durable.FS, path, hub string) (Memory, error) {
	empty := Memory{Hub: hub}.empty()
	text, err := durable.ReadSmallFile(fsys, path, api.MaxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read what the hub has received: %w", err)
	}
	m := empty
	if json.Unmarshal(text, &m) != nil || m.Format != memoryFormat || m.Hub != hub || m.Files == nil {
		return empty, nil
	}
	return m, nil
}

// empty returns a memory of the same experiment of which the hub has nothing.
func (m Memory) empty() Memory {
	return Memory{Format: memoryFormat, Hub: m.Hub, Created: m.Created, Config: m.Config,
		Files: map[string]string{}}
}

// Store writes the memory durably.
func (m Memory) Store(fsys durable.FS, path string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	const othersRead = 0o644
	if err := durable.WriteFile(fsys, path, append(text, '\n'), othersRead); err != nil {
		return fmt.Errorf("remember what the hub has received: %w", err)
	}
	return nil
}

// Has reports whether the hub has a record.
func (m *Memory) Has(n results.Name) bool {
	for _, r := range m.Received {
		if r.Attempt == n.Attempt && r.From <= n.Slot && n.Slot <= r.To {
			return true
		}
	}
	return false
}

// Add notes that the hub has a record. Adjacent ranges are joined: the file stays small however
// many records there are.
func (m *Memory) Add(n results.Name) {
	if m.Has(n) {
		return
	}
	m.Received = append(m.Received, Range{n.Attempt, n.Slot, n.Slot})
	slices.SortFunc(m.Received, func(a, b Range) int {
		return cmp.Or(a.Attempt-b.Attempt, a.From-b.From)
	})
	joined := m.Received[:0]
	for _, r := range m.Received {
		last := len(joined) - 1
		if last >= 0 && joined[last].Attempt == r.Attempt && joined[last].To+1 >= r.From {
			joined[last].To = max(joined[last].To, r.To)
		} else {
			joined = append(joined, r)
		}
	}
	m.Received = joined
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
