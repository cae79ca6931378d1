package main

import (
	"strings"
	"testing"

	"krund/internal/display"
	"krund/rig/must"
)

// TestMeant: a word that people try is answered with commands that exist, and is none itself.
func TestMeant(t *testing.T) {
	names := map[string]bool{}
	for _, c := range commands(&app{}) {
		names[c.Name()] = true
	}
	for word, answer := range display.Meant {
		must.Be(t, !names[word], word, "is a command")
		first, _, _ := strings.Cut(strings.NewReplacer(",", " ", ";", " ").Replace(answer)+" ", " ")
		must.Be(t, names[first], word, first, "is no command")
		r := krunctl(t, word)
		must.Be(t, r.code == exitUsage && strings.Contains(r.stderr, "what you mean may be "+answer),
			r.text())
	}
}

// TestCheckChooses: check asks krund about a configuration, looks at a directory, and else at this
// machine.
func TestCheckChooses(t *testing.T) {
	b := newExperiment(t)
	r := krunctl(t, "check", b.toml, "--quick")
	must.Be(t, strings.HasPrefix(r.stdout, "krund check --quick "+b.toml+"\nplan "), r.text())
	r = krunctl(t, "check", "--format", "json", b.dir())
	must.Be(t, r.code == exitOK && strings.Contains(r.stdout, `"problems"`), r.text())
	r = krunctl(t, "check")
	must.Be(t, strings.Contains(r.stdout, "turbo"), r.text())
	r = krunctl(t, "check", "--nonsense")
	must.Be(t, r.code == exitUsage && strings.Contains(r.stderr, "--nonsense"), r.text())
	r = krunctl(t, "run")
	must.Be(t, r.code == exitUsage && strings.Contains(r.stderr, "NAME.toml"), r.text())
	must.Equal(t, krunctl(t, "run", "--help").stdout, krunctl(t, "help", "run").stdout)
}
