package rig

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCollectInstallsWhatMakeBuilt(t *testing.T) {
	root := t.TempDir()
	if _, err := collect(root); err == nil || !strings.Contains(err.Error(), "no build/bin/krund in "+root+"; run: make build") {
		t.Errorf("nothing built: %v", err)
	}
	for _, name := range []string{
		"build/bin/krund", "build/bin/krunctl", "build/lib/libkrun.so", "build/libexec/krund/runner-c", "build/libexec/krund/runner.py",
		"benchmarks/nbody/c/bench.so", "benchmarks/fasta/c/bench.so", "benchmarks/nbody/python/bench.py", "systemd/krund@.service",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, name, "content")
	}
	files, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/srv/krund/benchmarks/fasta/c/bench.so", "/srv/krund/benchmarks/nbody/c/bench.so", "/srv/krund/benchmarks/nbody/python/bench.py",
		"/usr/bin/krunctl", "/usr/bin/krund", "/usr/lib/libkrun.so", "/usr/lib/systemd/system/krund@.service",
		"/usr/libexec/krund/runner-c", "/usr/libexec/krund/runner.py",
	}
	var got []string
	for name := range files.entries {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("files:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRepositoryIsFoundFromBelow(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "rig", "krund_test.go")); err != nil {
		t.Error(err)
	}
	t.Chdir(t.TempDir())
	if root, err := repository(); err == nil {
		t.Errorf("found a repository in %s from outside", root)
	}
}

func TestExperimentFile(t *testing.T) {
	var p Payload
	if got := p.Experiment("quick", "[experiment]\n"); got != "/srv/krund/quick.toml" {
		t.Errorf("path is %s", got)
	}
	if got := listing(t, packed(t, &p)); got != "srv/krund/quick.toml 0 -rw-r--r-- [experiment]\n" {
		t.Errorf("archive: %q", got)
	}
}

func TestAnnouncedTellsTheEndFromAReboot(t *testing.T) {
	match := regexp.MustCompile(announced("krund@quick.service"))
	for line, want := range map[string]bool{
		"RIG-UNIT krund@quick.service success 0 running":      true,
		"RIG-UNIT krund@quick.service exit-code 1 degraded":   true,
		"RIG-UNIT krund@quick.service success 0 starting":     true,
		"RIG-UNIT krund@quick.service success 0 stopping":     false,
		"RIG-UNIT krund@quick.service signal 9 stopping":      false,
		"RIG-UNIT krund@quickXservice success 0 running":      false,
		"RIG-UNIT krund@quick2.service success 0 running":     false,
		"x RIG-UNIT krund@quick.service success 0 running":    false,
		"RIG-UNIT krund@quick.service success 0 running fine": false,
	} {
		if match.MatchString(line) != want {
			t.Errorf("%q: match is %v, want %v", line, !want, want)
		}
	}
}
