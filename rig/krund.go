package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// ExperimentHome is the guest's folder of experiments, with benchmarks/ and all programs of the repository in it.
const ExperimentHome = "/srv/krund"

// UnitOf returns the unit that runs an experiment. That of no name is the template.
func UnitOf(experiment string) string { return "krund@" + experiment + ".service" }

// installed are the files of the repository that a guest gets: where they are after make build, as patterns, and the guest's folder for them. A
// pattern's fixed part before keep is cut off.
var installed = [...]struct{ pattern, keep, folder string }{
	{"build/bin/krund", "build/bin", "/usr/bin"},
	{"build/bin/krunctl", "build/bin", "/usr/bin"},
	{"build/lib/libkrun.so", "build/lib", "/usr/lib"},
	{"build/libexec/krund/*", "build/libexec", "/usr/libexec"},
	{"benchmarks/*/c/bench.so", "benchmarks", ExperimentHome + "/benchmarks"},
	{"benchmarks/*/python/bench.py", "benchmarks", ExperimentHome + "/benchmarks"},
	{"systemd/krund@.service", "systemd", "/usr/lib/systemd/system"},
}

// Krund makes a machine with krund installed from the repository's last make build: programs, library, runners, benchmarks and the unit, which
// announces its end (RunToEnd). The machine is off, and runs no experiment until the payload or a command enables one.
//
// The compiled benchmarks and runners are the host's: they run in the guest as long as the host's C library is not newer than Debian 12's.
func Krund(tb testing.TB, o Options) *Machine {
	tb.Helper()
	image := FindImage(tb) // before anything is demanded of the repository
	files, err := krundPayload()
	if err != nil {
		tb.Fatalf("install krund in %s: %v", filepath.Base(image.Dir), err)
	}
	if o.Payload != nil {
		files.Merge(o.Payload)
	}
	o.Payload = files
	return New(tb, o)
}

// krundPayload is what Krund installs.
func krundPayload() (*Payload, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	files, err := collect(root)
	if err != nil {
		return nil, err
	}
	files.Announce(UnitOf(""))
	return files, nil
}

// repository returns the folder of the module, from the working directory upwards.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		text, readErr := os.ReadFile(filepath.Join(dir, "go.mod"))
		if readErr == nil && strings.HasPrefix(string(text), "module krund\n") {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("not inside krund's repository: no go.mod with module krund above the working directory")
		}
		dir = up
	}
	return "", err
}

// collect takes the installed files of a repository. Each pattern must match.
func collect(root string) (*Payload, error) {
	var files Payload
	for _, from := range installed {
		found, err := fs.Glob(os.DirFS(root), from.pattern)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", from.pattern, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no %s in %s; run: make build", from.pattern, root)
		}
		for _, name := range found {
			to := path.Join(from.folder, strings.TrimPrefix(name, from.keep))
			if err := files.Copy(to, filepath.Join(root, name)); err != nil {
				return nil, err
			}
		}
	}
	return &files, nil
}

// Experiment adds an experiment and returns its path in the guest. Its folder will be beside it: NAME.krun.
func (p *Payload) Experiment(name, toml string) string {
	file := path.Join(ExperimentHome, name+".toml")
	p.Text(file, toml)
	return file
}
