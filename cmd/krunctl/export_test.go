package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/experiment/results"
	"krund/rig/must"
)

func TestAFailedExportLeavesTheOldFile(t *testing.T) {
	b := newExperiment(t)
	b.run(results.Completed)
	b.cfg.VMs[0].Iterations = 9 // the next run has more iterations
	b.run(results.Completed)
	file := filepath.Join(t.TempDir(), "out.csv")
	b.must(os.WriteFile(file, []byte("old"), 0o644))
	r := krunctl(t, "convert", "--to", "csv", "--rows", "wide", "-o", file, b.dir())
	got, err := os.ReadFile(file)
	must.Be(t, r.code == exitError && string(got) == "old" && err == nil &&
		strings.Contains(r.stderr, "slot 1 has 9"), "file", got, err, r.text())
	krunctl(t, "convert", "--to", "csv", "--rows", "wide", "--iterations", "0-3", "-o", file, b.dir()).says(t,
		exitOK, "", "")
}

func TestADiskThatIsFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	b := complete(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	b.must(err)
	defer full.Close()
	var stderr strings.Builder
	code := run([]string{"convert", "--to", "csv", b.dir()}, nil, full, &stderr)
	must.Be(t, code == exitError && strings.Contains(stderr.String(), "no space left"), "exit", code,
		stderr.String())
}

// TestExportEvents: events as a table and in a trace.
func TestExportEvents(t *testing.T) {
	b := complete(t)
	if r := krunctl(t, "convert", "--to", "csv", "--rows", "events", b.dir()); r.code != exitOK ||
		r.stdout != "benchmark,vm,variant,pexec,slot,attempt,iteration,kind,name,time_ns,duration_ns,"+
			"argument\n" {
		t.Error(r.text())
	}
	r := krunctl(t, "convert", "--to", "trace", "--key", "*:C:*", b.dir())
	must.Be(t, r.code == exitOK && strings.HasPrefix(r.stdout, `{"displayTimeUnit":"ns","traceEvents":[`) &&
		strings.Contains(r.stdout, `"iteration 0"`) && !strings.Contains(r.stdout, "CPython"), r.text())
}
