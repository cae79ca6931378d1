package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/key"
	"krund/internal/experiment/results"
	"krund/rig/must"
)

// completed is the record of an execution with these iterations.
func completed(k key.Key, slot, pexec int, wall []int64) results.Record {
	return results.Record{Key: k, Host: "bencher5", Slot: slot, Attempt: 1, Pexec: pexec,
		Iterations: len(wall), Outcome: results.Completed, Reasons: []string{},
		Reboot: results.RebootNone, Clock: "CLOCK_MONOTONIC_RAW", WallNS: wall}
}

// noisy returns 50 times around a level.
func noisy(r *rand.Rand, level, sd float64) []int64 {
	wall := make([]int64, 50)
	for i := range wall {
		wall[i] = int64(level * (1 + sd*r.NormFloat64()))
	}
	return wall
}

// storedIn makes an experiment's directory, and returns it; without a text it has no configuration.
func storedIn(t *testing.T, path, text string, records []results.Record) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	d := must.Get(directory.Create(lax(), path))(t)
	if text != "" {
		must.Do(t, durable.WriteFile(lax(), d.ConfigCopy(), []byte(text), 0o644))
	}
	a := results.NewAppender(lax(), d.Results())
	for _, r := range records {
		r.Experiment = strings.TrimSuffix(filepath.Base(path), ".krun")
		must.Do(t, a.Append(r))
	}
	return d.Dir()
}

// doubled adds changed copies of all records of an experiment.
func doubled(t *testing.T, in string, change func(r *results.Record)) string {
	t.Helper()
	dir := filepath.Join(in, "results")
	var copies []results.Record
	for r, err := range results.NewReader(lax(), dir).All() {
		must.Do(t, err)
		r.Slot += 10
		change(&r)
		copies = append(copies, r)
	}
	a := results.NewAppender(lax(), dir)
	for _, r := range copies {
		must.Do(t, a.Append(r))
	}
	return in
}

// laxFS is the system's FS without syncs: these tests write thousands of files, and power cuts do
// not matter.
type laxFS struct{ durable.FS }

func lax() durable.FS { return laxFS{durable.OS()} }

func (l laxFS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := l.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return laxFile{f}, nil
}

func (laxFS) SyncDir(string) error { return nil }

type laxFile struct{ durable.File }

func (laxFile) Sync() error { return nil }

func (laxFile) SyncData() error { return nil }
