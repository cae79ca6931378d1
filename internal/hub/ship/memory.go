package ship

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"krund/internal/durable"
	"krund/internal/experiment/results"
	"krund/internal/hub/api"
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

// Add notes that the hub has a record.
func (m *Memory) Add(n results.Name) {
	if m.Has(n) {
		return
	}
	for i, r := range m.Received {
		if r.Attempt == n.Attempt && r.To == n.Slot-1 {
			m.Received[i].To = n.Slot
			m.join()
			return
		}
	}
	m.Received = append(m.Received, Range{n.Attempt, n.Slot, n.Slot})
	m.join()
}

// join joins adjacent ranges: the file stays small however many records there are.
func (m *Memory) join() {
	slices.SortFunc(m.Received, func(a, b Range) int {
		if a.Attempt != b.Attempt {
			return a.Attempt - b.Attempt
		}
		return a.From - b.From
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
