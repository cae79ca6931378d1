//go:build linux

package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"krund/internal/experiment/starter"
	"krund/rig/must"
)

// TestFirstExperiment: what krunctl init writes runs, in the languages that are here and as a
// command.
func TestFirstExperiment(t *testing.T) {
	must.Do(t, install())
	prefix := filepath.Join(scratch, "prefix")
	for _, c := range []struct {
		language, program string
		command           []string
	}{
		{"c", "cc", nil}, {"python", "python3", nil}, {"javascript", "node", nil}, {"java", "javac", nil},
		{"ruby", "ruby", nil}, {"lua", "luajit", nil}, {"php", "php", nil}, {"go", "go", nil},
		{"rust", "rustc", nil}, {"", "true", []string{"true"}},
	} {
		t.Run(c.language+c.program, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			e := must.Get(
				starter.New("first", c.language, c.command, filepath.Join(prefix, "libexec/krund")))(t)
			config := filepath.Join(dir, "first.toml")
			must.Do(t, e.Write(dir))
			if e.Build != "" {
				build := exec.Command("sh", "-c", e.Build)
				build.Dir = filepath.Dir(filepath.Join(dir, e.File))
				out, err := build.CombinedOutput()
				must.Do(t, err, out)
			}
			startKrund(t, prefix, "run", "--quick", config).wait().want(t, exitOK, "completed")
		})
	}
}
