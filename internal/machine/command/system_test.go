package command

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"krund/rig/must"
)

// TestProgramThatStartsAService: rcctl ends when the service has begun, which may continue to write
// to where rcctl wrote. That is no failure, and no reason to wait for the service or to end it.
func TestProgramThatStartsAService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "starts"), []byte("#!/bin/sh\nsleep 5 &\necho started\n"),
		0o755))
	// the first is no directory
	p := System{Dirs: []string{filepath.Join(dir, "starts"), dir, "/usr/bin", "/bin"}}
	out, err := p.Output(t.Context(), "starts")
	must.Be(t, err == nil && string(out) == "started\n", string(out), err)
	_, err = p.Output(t.Context(), "none")
	must.Be(t, err != nil && !errors.Is(err, exec.ErrNotFound), err, "a directory could not be looked into")
}

func TestSystem(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), mode))
	}
	script("good", "echo \"$1 $LC_ALL $HOME\"", 0o755)
	script("bad", "echo one >&2; echo two >&2; exit 3", 0o755)
	script("hangs", "sleep 3600 & wait", 0o755)
	script("plain", "echo", 0o644)
	p := System{Dirs: []string{dir, "/usr/bin", "/bin"}, Timeout: 5 * time.Minute}
	out, err := p.Output(t.Context(), "good", "a b")
	must.Be(t, err == nil && string(out) == "a b C \n", string(out), err)
	_, err = p.Output(t.Context(), "bad")
	must.Be(t, err != nil && err.Error() == "run bad: exit status 3: two", err)
	for _, name := range []string{"none", "plain"} {
		_, err := p.Output(t.Context(), name)
		must.Fail(t, err, exec.ErrNotFound, name)
	}
	p.Timeout = 50 * time.Millisecond
	must.Refused(p.Output(t.Context(), "hangs"))(t, "deadline")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	must.Refused(p.Output(ended, "good"))(t, "", "ran with an ended context")
}
