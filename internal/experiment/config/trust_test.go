package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/rig/must"
)

// minimal is a right configuration.
const minimal = `[vms.C]
runner = "c"
variants = ["v"]
[variants.v]
entry = "bench.so"
[benchmarks]
b = { parameter = 1 }
`

// mallory is a user that no machine of the tests needs.
const mallory = 4712

// TestTrusted: what is started at every boot only root may be able to change, on the whole way
// there; what a person starts by hand may belong to one user.
func TestTrusted(t *testing.T) {
	must.Root(t, "only root's commands are at stake")
	for _, test := range []struct {
		name           string
		change         func(dir, path string) error
		atBoot, byHand string
	}{
		{"root's alone", func(_, _ string) error { return nil }, "", ""},
		{"a file that others may write", func(_, path string) error { return os.Chmod(path, 0o666) },
			"x.toml can be changed by others besides its owner (mode 0666)", "chmod go-w"},
		{"a file that a group may write", func(_, path string) error { return os.Chmod(path, 0o664) },
			"chmod go-w", "chmod go-w"},
		{"a directory in which others may put another file", func(dir, _ string) error {
			return os.Chmod(dir, 0o777)
		},
			"can be changed by others", "can be changed by others"},
		{"a directory of another user", func(dir, _ string) error { return os.Chown(dir, mallory, 0) },
			"belongs to user 4712", ""},
		{"a directory above of another user", func(dir, _ string) error {
			return os.Chown(filepath.Dir(dir), mallory, 0)
		},
			"belongs to user 4712", ""},
		{"a file of another user", func(_, path string) error { return os.Chown(path, mallory, 0) },
			"chown root", ""},
		{"a sticky directory", func(dir, _ string) error { return os.Chmod(dir, 0o777|fs.ModeSticky) }, "",
			""},
	} {
		dir := filepath.Join(t.TempDir(), "above", "lab")
		path := filepath.Join(dir, "x.toml")
		err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, []byte(minimal), 0o644))
		if err = errors.Join(err, test.change(dir, path)); err != nil {
			t.Fatal(err)
		}
		c := must.Get(Open(path, "host", known()))(t)
		for reboot, want := range map[string]string{RebootHardware: test.atBoot, RebootNone: test.byHand} {
			err := c.Trusted(reboot)
			must.Be(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
				test.name, "reboot", reboot, err, "want", want)
		}
		parsed, err := Parse(path, []byte(minimal), "host", known())
		must.Be(t, err == nil && parsed.Trusted(RebootHardware) == nil, test.name, "a text without a file",
			err, parsed.Trusted(RebootHardware))
	}
}

// TestHooksAreJudged: root runs hooks and notifications, so the way to each counts as that to the
// configuration.
func TestHooksAreJudged(t *testing.T) {
	must.Root(t, "only root's commands are at stake")
	dir := filepath.Join(t.TempDir(), "hooks")
	hook := filepath.Join(dir, "hook")
	err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o755),
		os.Chmod(dir, 0o777))
	must.Do(t, err)
	c := &Config{shown: "x.toml", lines: lines{"hooks.before[0]": 7},
		Hooks: Hooks{Before: [][]string{{hook}}}}
	check := func() error {
		found := &problems{file: c.shown}
		c.checkFiles(found)
		return found.errors()
	}
	err = check()
	must.Be(t, err != nil &&
		strings.HasPrefix(err.Error(), "x.toml:7: hooks.before[0]: "+dir+" can be changed by others"),
		"a hook in a directory for all", err)
	must.Do(t, os.Chmod(dir, 0o755))
	must.Do(t, check(), "a hook that is root's alone")
}
