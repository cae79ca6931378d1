package bisection

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"

	"krund/internal/durable"
)

// Remote is a step that a hub has.
type Remote struct {
	Hub string `json:"hub"` // its address
	ID  string `json:"id"`  // of the experiment, stored before it is submitted
}

func beside(step, ending string) string { return strings.TrimSuffix(step, ".toml") + ending }

// Results returns the directory for what the hub has measured of a step.
func Results(step string) string { return beside(step, ".results") }

// Remote returns what a hub has of a step. The error wraps fs.ErrNotExist if it was not submitted.
func (b *Bisection) Remote(step string) (r Remote, err error) {
	text, err := durable.ReadFile(b.FS, beside(step, ".hub"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read where step %s is: %w", step, err)
	}
	return r, nil
}

// SetRemote stores what a hub will have of a step.
func (b *Bisection) SetRemote(step string, r Remote) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return durable.WriteFile(b.FS, beside(step, ".hub"), append(text, '\n'), 0o644)
}

// Fetched makes dir, which was just written, the results of a step.
func (b *Bisection) Fetched(step, dir string) error {
	syscall.Sync() // a power cut must not leave the name of a directory without its files
	if err := b.FS.Rename(dir, Results(step)); err != nil {
		return err
	}
	return b.FS.SyncDir(b.Dir)
}

// Forget removes what a hub has measured of a step: it will be submitted again.
func (b *Bisection) Forget(step string) error {
	if err := os.RemoveAll(Results(step)); err != nil {
		return err
	}
	return b.FS.Remove(beside(step, ".hub"))
}
