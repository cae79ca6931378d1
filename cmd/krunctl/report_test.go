package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReportDirectoryFull: a report that cannot be finished leaves the old one, and nothing of its
// own.
func TestReportDirectoryFull(t *testing.T) {
	dir := t.TempDir()
	in, out := krundDirectory(t, dir), filepath.Join(dir, "out")
	if r := krunctl(t, "report", in, "-o", out); r.code != exitOK {
		t.Fatal(r.text())
	}
	before := contents(t, out)
	// as good as a full disk
	if err := os.MkdirAll(filepath.Join(out, "plots", "k0000-0.svg"+".krunctl-part"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := krunctl(t, "report", in, "-o", out); r.code != exitError {
		t.Error(r.text())
	}
	if !equal(before, contents(t, out)) {
		t.Error("the old report has changed")
	}
}
