package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/boot"
	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/experiment/directory"
	"krund/internal/hub/joined"
	"krund/internal/machine/command"
	"krund/rig/must"
)

// giveUpText is a configuration with a recipient.
const giveUpText = `[experiment]
reboot = "none"
account = "caller"
[notify]
mail = ["lab@localhost"]
[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
nbody = { parameter = 1 }
`

// told records what an unattended krund did.
type told struct {
	disabled []string
	sent     []command.Message
	stderr   strings.Builder
}

func (d *told) unattended(unit string, disableErr, sendErr error) unattended {
	return unattended{
		unit: unit,
		disable: func(_ context.Context,
			unit string) error {
			d.disabled = append(d.disabled, unit)
			return disableErr
		},
		send: func(_ context.Context, _ *config.Config, m command.Message) error {
			d.sent = append(d.sent, m)
			return sendErr
		},
		stderr: &d.stderr,
	}
}

func TestGiveUp(t *testing.T) {
	cfg := must.Get(config.Parse("/x/test.toml", []byte(giveUpText), "lab1", nil))(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("the schedule is damaged")
	const unit = "krund@test.service"
	for _, test := range []struct {
		name       string
		ctx        context.Context
		unit       string
		err        error
		disableErr error
		sendErr    error
		acts       bool
		text       string // in the message
		talk       string // on stderr
	}{
		{"started by a person", t.Context(), "", broken, nil, nil, false, "", ""},
		{"started by the unit", t.Context(), unit, broken, nil, nil, true, "the next boots are " +
			"ordinary ones", "`krunctl enable /x/test.toml`"},
		{"not opened", t.Context(), unit, &boot.NotOpened{Err: &directory.OtherConfig{Dir: "/x/test.krun"}},
			nil, nil, true, "another configuration", "is disabled"},
		{"the machine shuts down", over, unit, broken, nil, nil, false, "", ""},
		{"another krund works on the machine", t.Context(), unit, fmt.Errorf("%w works on this machine",
			directory.ErrBusy), nil, nil, true, "another krund works", "is disabled"},
		{"a program that is not krund holds the lock", t.Context(), unit,
			&boot.NotOpened{Err: &directory.LockedError{Stranger: "process 7"}}, nil, nil, true,
			"process 7", "is disabled"},
		{"the unit cannot be disabled", t.Context(), unit, broken, errors.New("refused"), nil, true,
			"start krund at each boot: refused", "refused"},
		{"no notification can be sent", t.Context(), unit, broken, nil, errors.New("no sendmail"), true,
			"damaged", "not delivered: no sendmail"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var did told
			did.unattended(test.unit, test.disableErr, test.sendErr).giveUp(test.ctx,
				runOptions{path: "/x/test.toml"}, cfg, test.err)
			if !test.acts {
				must.Be(t, len(did.disabled)+len(did.sent)+did.stderr.Len() <= 0, "did", did)
				return
			}
			must.Contain(t, did.stderr.String(), test.talk, "said")
			must.Need(t, fmt.Sprint(did.disabled) == "["+unit+"]" && len(did.sent) == 1, "did", did)
			m := did.sent[0]
			must.Be(t, m.Event == command.Stopped && m.Experiment == "test" && m.Host == "lab1" &&
				strings.Contains(m.Text, test.text), "message", m)
		})
	}
}

// TestGiveUpOnALock: another krund, perhaps started by hand, works on the experiment. A
// notification is sent, and the unit stays enabled.
func TestGiveUpOnALock(t *testing.T) {
	cfg := must.Get(config.Parse("/x/test.toml", []byte(giveUpText), "lab1", nil))(t)
	var did told
	locked := &boot.NotOpened{Err: &directory.LockedError{Dir: "/x/test.krun", PID: 7, Host: "lab1"}}
	did.unattended("krund@test.service", nil, nil).giveUp(t.Context(),
		runOptions{path: "/x/test.toml"}, cfg, locked)
	must.Be(t, len(did.disabled) == 0 && len(did.sent) == 1 &&
		strings.Contains(did.sent[0].Text, "process 7") &&
		strings.Contains(did.sent[0].Text, "stays enabled"), "did", did)
}

// TestGiveUpReadsTheDirectory: if the configuration has mistakes, the recipients are those of the
// configuration that the experiment was started with.
func TestGiveUpReadsTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "test.krun")
	o := runOptions{path: strings.TrimSuffix(dir, ".krun") + ".toml", directory: dir}
	var did told
	broken := errors.New("mistakes")
	did.unattended("krund@test.service", nil, nil).giveUp(t.Context(), o, nil, broken)
	must.Be(t, len(did.disabled) == 1 && len(did.sent) == 0, "without a directory: did", did)
	for _, sub := range []string{dir, filepath.Join(dir, "results")} {
		must.Do(t, os.Mkdir(sub, 0o755))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(giveUpText), 0o644))
	did.unattended("krund@test.service", nil, nil).giveUp(t.Context(), o, nil, broken)
	must.Be(t, len(did.sent) == 1 && did.sent[0].Experiment == "test", "did", did)
	if err := os.Chmod(filepath.Join(dir, "config.toml"), 0o666); err != nil { //nolint:gosec // on purpose
		t.Fatal(err)
	}
	did.unattended("krund@test.service", nil, nil).giveUp(t.Context(), o, nil, broken)
	must.Equal(t, len(did.sent), 1, "a copy that other users can change was trusted")
}

// TestGiven: an experiment of the hub may have sections for any name of a machine. What it demands
// is judged for the name that the machine has when krund starts.
func TestGiven(t *testing.T) {
	const text = `[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
[machines."localhost*".hooks]
before = [["/bin/sh", "-c", "id > /srv/pwned"]]
[machines."localhost*".experiment]
account = "caller"
`
	state, hubFile := t.TempDir(), filepath.Join(t.TempDir(), "hub.toml")
	given := filepath.Join(joined.Given(state), "id/x.toml")
	read := func(path, host string) *config.Config {
		t.Helper()
		return must.Get(config.Stored(path, []byte(text), host, doctor.Settings()))(t)
	}
	want := func(path, host string, root bool, refused ...string) {
		t.Helper()
		cfg, err := asAllowed(read(path, host), root, hubFile, state)
		if len(refused) == 0 {
			bounded := root && path == given
			must.Be(t, err == nil && (cfg.Limits.Timeout == 2*time.Hour) == bounded, path, "on", host, err)
			return
		}
		for _, part := range refused {
			must.Be(t, err != nil && cfg == nil && strings.Contains(err.Error(), part), path, "on", host, err,
				part)
		}
	}
	want(given, "lab1", true)
	want(given, "localhost", true, `[hooks] ("hooks")`, `account = "caller" ("caller")`)
	want(given, "localhost", false)
	want("/root/x.toml", "localhost", true) // of the machine's owner
	hub := joined.Hub{URL: "http://hub", Token: "x", Allow: []string{joined.AllowHooks}}
	must.Do(t, hub.Store(durable.OS(), hubFile))
	want(given, "localhost", true, `account = "caller" ("caller")`)
	must.Do(t, durable.WriteFile(durable.OS(), hubFile, []byte("damaged"), 0o600))
	want(given, "lab1", true, "run `krunctl hub join` again")
}

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
