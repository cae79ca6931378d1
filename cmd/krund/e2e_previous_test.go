//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

// TestPreviousVersion continues an experiment of which an earlier version recorded two of three
// executions (testdata/previous, written by commit 40aea0f). Its configuration states an option of
// nearly every control: if the schedule is still accepted, the hash of the configuration has not
// changed. The flag by its former name is accepted, with a notice.
func TestPreviousVersion(t *testing.T) {
	t.Parallel()
	e := newExperiment(t)
	e.c("good", good)
	text, err := os.ReadFile("testdata/previous/test.toml")
	e.must(err)
	e.write("test.toml", string(text))
	e.must(os.CopyFS(e.directory, os.DirFS("testdata/previous/directory")))
	out := startKrund(t, filepath.Join(scratch, "prefix"), "run", "--folder", e.directory,
		filepath.Join(e.dir, "test.toml")).wait()
	out.want(t, exitOK, "[3/3]", "--folder is deprecated; use --directory")
	records := e.records()
	must.Need(t, len(records) == 3, len(records), "records, want 3")
	for i, r := range records {
		must.Be(t, r.Outcome == results.Completed && r.Pexec == i+1 && len(r.WallNS) == 5 &&
			r.ConfigHash == records[0].ConfigHash, "record", i, r)
	}
	for _, name := range []string{"results/0000000-001.json.gz", "results/0000001-001.json.gz"} {
		before, err := os.ReadFile(filepath.Join("testdata/previous/directory", name))
		e.must(err)
		after, err := os.ReadFile(filepath.Join(e.directory, name))
		e.must(err)
		must.Be(t, bytes.Equal(before, after), name, "has changed")
	}
}
