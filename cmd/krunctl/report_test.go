package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"krund/rig/must"
)

// TestReportDirectoryFull: a report that cannot be finished leaves the old one, and nothing of its
// own.
func TestReportDirectoryFull(t *testing.T) {
	dir := t.TempDir()
	in, out := krundDirectory(t, dir), filepath.Join(dir, "out")
	krunctl(t, "report", in, "-o", out).works(t)
	before := contents(t, out)
	// as good as a full disk
	must.Do(t, os.MkdirAll(filepath.Join(out, "plots", "k0000-0.svg"+".krunctl-part"), 0o755))
	krunctl(t, "report", in, "-o", out).says(t, exitError, "", "")
	must.Be(t, maps.Equal(before, contents(t, out)), "the old report has changed")
}

// TestReportOfOneMachine: a hub keeps an experiment in ID/MACHINE/NAME.krun also if it is of one
// machine.
func TestReportOfOneMachine(t *testing.T) {
	dir := t.TempDir()
	all := filepath.Join(dir, "all")
	must.Do(t, os.MkdirAll(filepath.Join(all, "lab1"), 0o755))
	in := krundDirectory(t, dir)
	must.Do(t, os.Rename(in, filepath.Join(all, "lab1", filepath.Base(in))))
	for _, args := range [][]string{{"report", "-o", filepath.Join(dir, "out")}, {"show", "--startup"}} {
		krunctl(t, append(args, all)...).says(t, exitOK, "", "")
	}
}
