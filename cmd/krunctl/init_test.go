package main

import (
	"os"
	"strings"
	"testing"

	"krund/rig/must"
)

// TestInit: what exists is never replaced, and what to type next is printed.
func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	r := krunctl(t, "init", "c", "sums")
	must.Be(t, r.code == exitOK && strings.Contains(r.stdout, "(cd sums/c && cc ") &&
		strings.Contains(r.stdout, "run sums.toml\n"), r.text())
	must.Do(t, os.WriteFile("sums.toml", []byte("mine"), 0o644))
	r = krunctl(t, "init", "python", "sums")
	must.Be(t, r.code == exitError && strings.Contains(r.stderr, "sums.toml: file already exists"), r.text())
	must.Equal(t, string(must.Get(os.ReadFile("sums.toml"))(t)), "mine")
	must.Do(t, os.Remove("sums.toml"))
	r = krunctl(t, "init", "c", "sums")
	r.says(t, exitError, "", "sums/c/bench.c: file already exists")
	for _, args := range [][]string{{}, {"klingon"}, {"c", "a", "b"}, {"c", "../x"}, {"--", "ls"},
		{"x", "--"}} {
		r = krunctl(t, append([]string{"init"}, args...)...)
		must.Be(t, r.code == exitUsage && r.stdout == "", args, r.text())
	}
}
