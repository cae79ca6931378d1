package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/schedule"
	"krund/rig/must"
)

// withErrors makes an experiment of 8 slots; all executions of fasta failed.
func withErrors(t *testing.T) *builder {
	t.Helper()
	b := newExperimentOf(t, experimentText)
	for i := range b.cfg.Slots() {
		if i%2 == 1 {
			b.run(results.Error, "no such file")
		} else {
			b.run(results.Completed)
		}
	}
	return b
}

func TestRerun(t *testing.T) {
	b := withErrors(t)
	before := krunctl(t, "status", "--format", "json", b.dir()).stdout
	dry := krunctl(t, "run", "--again", "--later", "--outcome", "error", "--key", "fasta:C:*", "--dry-run",
		b.dir())
	want := "       1        1  error      fasta:C:default-c\n" +
		"       5        2  error      fasta:C:default-c\n"
	must.Be(t, dry.code == exitOK && dry.stdout == want+"would run 2 slots again\n", "--dry-run",
		dry.text())
	must.Equal(t, krunctl(t, "status", "--format", "json", b.dir()).stdout, before,
		"--dry-run changed the experiment")
	r := krunctl(t, "run", "--again", "--later", "--outcome", "error", "--key", "fasta:C:*", b.dir())
	must.Be(t, r.code == exitOK && strings.HasPrefix(r.stdout, want+"2 slots outstanding again"), r.text())
	krunctl(t, "check", b.dir()).says(t, exitOK, "replaced", "")
	r = krunctl(t, "repair", b.dir())
	must.Be(t, r.code == exitOK && r.stdout == "nothing to repair\n", r.text())
	krunctl(t, "show", b.dir(), "1-1").says(t, exitOK, "no such file", "", "the replaced record")
	krunctl(t, "show", b.dir(), "1").says(t, exitError,
		"", "no record of slot 1", "a replaced record is taken for that of the slot")
	const unfinished = "2 of 8 executions are outstanding (2 of fasta:C:default-c)"
	out := filepath.Join(t.TempDir(), "out")
	krunctl(t, "report", "-o", out, b.dir()).says(t, exitOK, "", "")
	page, err := os.ReadFile(filepath.Join(out, "index.html"))
	must.Be(t, err == nil && strings.Contains(string(page), unfinished), "the report", unfinished, err)
	r = krunctl(t, "analyze", b.dir())
	must.Contain(t, r.stdout, unfinished, "the analysis does not say", r.text())
}

// TestRerunOfSkipped: a slot that [stop] has skipped may be skipped again, and the message says so.
func TestRerunOfSkipped(t *testing.T) {
	const note = "the experiment's [stop] decides before they run, and may skip them again\n"
	b := newExperimentOf(t, strings.Replace(experimentText, "executions = 2", "executions = 3", 1)+
		"[stop]\nrules = [\"halfwidth\"]\n")
	b.run(results.Completed)
	slot, err := b.sched.Current()
	b.must(err)
	b.must(b.sched.Finish(slot, schedule.Skipped))
	r := krunctl(t, "run", "--again", "--later", "--slot", "1", b.dir())
	must.Be(t, r.code == exitOK && strings.HasSuffix(r.stdout, note), r.text())
	r = krunctl(t, "run", "--again", "--later", "--slot", "0", b.dir())
	must.Be(t, r.code == exitOK && !strings.Contains(r.stdout, note), "this slot was not skipped", r.text())
}

// TestRerunRefuses: nothing is changed while krund runs.
func TestRerunRefuses(t *testing.T) {
	b := withErrors(t)
	d, err := directory.Open(durable.OS(), b.dir())
	b.must(err)
	lock, err := d.Lock(os.Getpid(), "lab1")
	b.must(err)
	r := krunctl(t, "run", "--again", "--later", "--slot", "1", b.dir())
	b.must(lock.Release())
	r.says(t, exitError, "", "is running this experiment", "while krund runs")
	list, _ := filepath.Glob(filepath.Join(b.dir(), "results", "*.replaced"))
	must.Be(t, len(list) == 0, "records were replaced", list)
}

// TestNextOf: the directory of a quick run has no configuration of its own.
func TestNextOf(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string][]string{"a-quick.krun": {"run", "--quick", dir + "/a.toml"},
		"a.krun": {"run", dir + "/a.toml"}} {
		d := must.Get(directory.Create(durable.OS(), filepath.Join(dir, name)))(t)
		got := (&app{}).nextOf(experiment.Experiment{Directory: d})
		must.Be(t, slices.Equal(got, want), got, want)
	}
}
