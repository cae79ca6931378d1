//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// withKrunctl installs krund in a directory of its own, beside a shell script as krunctl.
func (e *experiment) withKrunctl(script string) (prefix string) {
	e.t.Helper()
	prefix = filepath.Join(e.dir, "prefix")
	e.must(errors.Join(os.MkdirAll(filepath.Join(prefix, "bin"), 0o755),
		os.Link(filepath.Join(scratch, "prefix", "bin", "krund"), filepath.Join(prefix, "bin", "krund")),
		os.Symlink(filepath.Join(scratch, "prefix", "lib"), filepath.Join(prefix, "lib")),
		os.Symlink(filepath.Join(scratch, "prefix", "libexec"), filepath.Join(prefix, "libexec"))))
	e.write(filepath.Join("prefix", "bin", "krunctl"), "#!/bin/sh\n"+script)
	return prefix
}

// TestDecideMisbehaves: whatever krunctl status --decision does, all executions are run and
// counted, and the log has the reasons. The script misbehaves in another way after each execution,
// and at last replaces itself.
func TestDecideMisbehaves(t *testing.T) {
	t.Parallel()
	attacks := []struct{ script, why string }{
		{"exit 0", "EOF"},
		{"head -c 100000000 /dev/zero", "longer than"},
		{"kill -KILL $$", "signal: killed"},
		{`ln -sf ../test.toml "$d"; exit 4`, "exit status 4"},
		{`rm -f "$d"; head -c 5000 /dev/zero >"$d"; exit 5`, "exit status 5"},
		{`rm -f "$d"; mkfifo "$d"; exit 6`, "exit status 6"},
		{`rm -f "$d"; mkdir "$d"; exit 7`, "exit status 7"},
		{`rmdir "$d"; rm "$0"; mkdir "$0"; exit 8`, "exit status 8"},
	}
	var script strings.Builder
	script.WriteString(`here=$(dirname "$0"); d="$here/../../test.krun/decisions.json"
echo >>"$here/calls"
case $(wc -l <"$here/calls") in
`)
	for i, attack := range attacks {
		fmt.Fprintf(&script, "%d) %s;;\n", i+1, attack.script)
	}
	script.WriteString("esac\n")
	e := newExperiment(t)
	e.executions, e.extra = len(attacks)+1, "[stop]\nrules = [\"halfwidth\"]\n"
	e.c("good", good)
	prefix, text := e.withKrunctl(script.String()), e.config()
	config := e.write("test.toml", text)
	startKrund(t, prefix, "run", "--directory", e.directory, config).wait().want(t, exitOK)
	must.Equal(t, e.flags(), strings.Repeat("C", e.executions), "slots")
	log, err := os.ReadFile(filepath.Join(e.directory, "log"))
	e.must(err)
	for _, attack := range attacks {
		must.Contain(t, string(log), attack.why, "after", attack.script, "the log")
	}
	now, err := os.ReadFile(config)
	must.Be(t, err == nil && string(now) == text, "what the link led to was changed", err)
}

// TestDecideMissing: an experiment that has started goes on without krunctl; another one does not
// start.
func TestDecideMissing(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.executions, e.extra = 4, "[stop]\nrules = [\"halfwidth\"]\n"
	e.c("good", good)
	prefix := e.withKrunctl(`mv "$0" "$0".away; kill -INT $PPID; exec sleep 1000`)
	program := filepath.Join(prefix, "bin", "krunctl")
	config := e.write("test.toml", e.config())
	run := func() ended { return startKrund(t, prefix, "run", "--directory", e.directory, config).wait() }
	e.must(os.Rename(program, program+".away"))
	run().want(t, exitError, "stop.rules needs krunctl beside krund")
	e.must(os.Rename(program+".away", program))
	run().want(t, exitInterrupted)
	_, err := os.Stat(program)
	must.Need(t, errors.Is(err, os.ErrNotExist), err)
	run().want(t, exitOK)
	must.Equal(t, e.flags(), "CCCC", "slots", "want CCCC")
}
