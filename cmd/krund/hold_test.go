package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/rig/must"
)

// TestHeld: a held experiment is left alone, even when its configuration is broken, and that is no
// error.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	toml := filepath.Join(dir, "test.toml")
	must.Do(t, os.WriteFile(toml, []byte("this is no TOML"), 0o644))
	f, err := directory.Create(durable.OS(), filepath.Join(dir, "test.krun"))
	if err == nil {
		err = f.Ask(directory.Hold, "test")
	}
	must.Do(t, err)
	code, stdout, stderr := krund(t, "run", toml)
	must.Be(t, code == exitOK && strings.Contains(stdout, "krunctl resume "+f.Dir()) && stderr == "",
		"status", code, "stdout", stdout, "stderr", stderr)
	entries, err := os.ReadDir(f.Dir())
	if err != nil || len(entries) != 2 { // hold and results
		t.Errorf("in the directory: %v, %v", entries, err)
	}
	must.Get(f.Withdraw(directory.Hold))(t)
	code, _, stderr = krund(t, "run", toml)
	must.Be(t, code == exitUsage && strings.Contains(stderr, "test.toml:1"), "after resume: status", code,
		"stderr", stderr)
}
