package command

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

func set(t *testing.T) (Hooks, string) {
	t.Helper()
	return Hooks{Log: slog.New(slog.DiscardHandler)}, filepath.Join(t.TempDir(), "trace")
}

func trace(word, file string) []string { return []string{"sh", "-c", "echo " + word + " >>" + file} }

func TestBeforeStopsAtTheFirstFailure(t *testing.T) {
	s, file := set(t)
	s.BeforeArgv = [][]string{trace("one", file), {"sh", "-c", "echo no network; exit 4"},
		trace("three", file)}
	err := s.Before(t.Context(), nil)
	must.Be(t, err != nil && strings.Contains(err.Error(), "hook 2 before") &&
		strings.Contains(err.Error(), "no network"), err, "want one that names hook 2 and its last line")
	got, _ := os.ReadFile(file)
	must.Equal(t, string(got), "one\n", "ran", got, "want only the first")
}

func TestAfterRunsAllAndJoinsErrors(t *testing.T) {
	s, file := set(t)
	s.AfterArgv = [][]string{{"false"}, trace("two", file), {"/nowhere/program"}, trace("four", file)}
	err := s.After(t.Context(), nil)
	must.Be(t, err != nil && strings.Contains(err.Error(), "hook 1 after") &&
		strings.Contains(err.Error(), "hook 3 after"), err, "want hooks 1 and 3")
	got, _ := os.ReadFile(file)
	must.Equal(t, string(got), "two\nfour\n", "ran", got, "want both good ones")
}

func TestNoHooks(t *testing.T) {
	s, _ := set(t)
	must.Do(t, s.Before(t.Context(), nil))
	must.Do(t, s.After(t.Context(), nil))
}

func TestTheEnvironmentIsFixed(t *testing.T) {
	t.Setenv("KRUND_STRAY", "from the shell that started krund")
	s, file := set(t)
	s.Environ = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
	s.BeforeArgv = [][]string{{"/bin/sh", "-c", "/usr/bin/env >" + file}}
	must.Do(t, s.Before(t.Context(), nil))
	got, _ := os.ReadFile(file)
	must.Be(t, strings.Contains(string(got), "PATH=/usr/bin:/bin\n") &&
		!strings.Contains(string(got), "KRUND_STRAY"), "a hook saw", got)
}
