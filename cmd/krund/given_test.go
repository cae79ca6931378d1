package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/boot/doctor"
	"krund/internal/durable"
	"krund/internal/experiment/config"
	"krund/internal/hub/joined"
	"krund/rig/must"
)

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
		cfg := must.Get(config.Stored(path, []byte(text), host, doctor.Settings()))(t)
		return cfg
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
