package main

import (
	"os"
	"path/filepath"
	"testing"

	"krund/rig/must"
)

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
