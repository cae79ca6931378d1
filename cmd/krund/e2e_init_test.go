//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// TestFinishedAndChanged: who starts a finished experiment again with another program is told that
// the results are of the one before.
func TestFinishedAndChanged(t *testing.T) {
	must.Do(t, install())
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	prefix, dir := filepath.Join(scratch, "prefix"), t.TempDir()
	e := must.Get(starter.New("first", "python", nil, prefix))(t)
	e.Config = strings.NewReplacer("executions = 5", "executions = 1", "iterations = 200",
		"iterations = 2").Replace(e.Config)
	must.Do(t, e.Write(dir))
	config := filepath.Join(dir, "first.toml")
	startKrund(t, prefix, "run", config).wait().want(t, exitOK, "completed")
	startKrund(t, prefix, "run", config).wait().want(t, exitOK, "nothing is outstanding")
	must.Do(t, os.WriteFile(filepath.Join(dir, e.File), []byte(e.Text+"# other\n"), 0o644))
	startKrund(t, prefix, "run", config).wait().want(t, exitOK, "has changed since it was measured")
}
