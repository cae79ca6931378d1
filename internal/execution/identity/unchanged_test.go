package identity_test

import (
	"os"
	"path/filepath"
	"testing"

	"krund/internal/durable"
	"krund/internal/execution/identity"
	"krund/internal/experiment/config"
	"krund/internal/experiment/starter"
	"krund/rig/must"
)

// TestUnchanged: a benchmark that is not as in the newest edition is named, one that nothing was
// measured with is not.
func TestUnchanged(t *testing.T) {
	dir := t.TempDir()
	e := must.Get(starter.New("first", "python", nil, ""))(t)
	must.Do(t, e.Write(dir))
	cfg := must.Get(config.Parse(filepath.Join(dir, "first.toml"), []byte(e.Config), "lab", nil))(t)
	editions, ctx, fsys := filepath.Join(dir, "editions.json"), t.Context(), durable.OS()
	must.Do(t, identity.Unchanged(ctx, fsys, editions, cfg)) // there is no edition
	programs := identity.Programs{Files: identity.Files(cfg)}
	now := must.Get(programs.Read(ctx))(t)
	must.Do(t, identity.StoreEditions(fsys, editions, []identity.Edition{{Number: 1, Programs: now}}))
	must.Do(t, identity.Unchanged(ctx, fsys, editions, cfg))
	must.Do(t, os.WriteFile(filepath.Join(dir, e.File), []byte("other"), 0o644))
	err := identity.Unchanged(ctx, fsys, editions, cfg)
	must.Need(t, err != nil, "no error")
	must.Contain(t, err.Error(), e.File+" has changed since it was measured")
}

// TestFilesOfACommand: the program of a command is one of those that are measured.
func TestFilesOfACommand(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	must.Do(t, os.WriteFile(work, []byte("#!/bin/sh\n"), 0o755))
	e := must.Get(starter.New("first", "", []string{work, "--fast"}, ""))(t)
	cfg := must.Get(config.Parse(filepath.Join(dir, "first.toml"), []byte(e.Config), "lab", nil))(t)
	must.EqualList(t, identity.Files(cfg)["vm.command"], []string{work})
}
