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

// TestWideNumbersWithoutGaps: warmup_stats refuses process executions that are
// not numbered 0, 1, 2, ...
func TestWideNumbersWithoutGaps(t *testing.T) {
	b := newExperiment(t)
	for i := range b.cfg.Slots() {
		o := results.Completed
		if i == 0 {
			o = results.Error // the first execution of nbody on C
		}
		b.run(o)
	}
	r := krunctl(t, "convert", "--to", "csv", "--rows", "wide", "--key", "nbody:C:*", b.dir())
	if want := "process_exec_num,bench_name,0,1,2,3\n" +
		"0,nbody,0.005000000,0.005001000,0.005002000,0.005003000\n"; r.stdout != want {
		t.Error(r.text())
	}
}

func TestColumnsOfTheSameName(t *testing.T) {
	b := newExperiment(t)
	slot, err := b.sched.Begin()
	b.must(err)
	rec := b.record(slot, results.Completed)
	rec.Columns = []results.Column{
		{Name: "wall_ns", Kind: results.KindUser, Values: []int64{1, 2, 3, 4}},
		{Name: "cycles", Kind: results.KindCounter, Counts: []uint64{5, 6, results.MissingCount, 1<<64 - 1}},
		{Name: "cycles", Kind: results.KindUser, Values: []int64{-9, results.Missing, -7, -6}},
		{Name: "outcome", Kind: results.KindUser, Values: []int64{1, 1, 1, 1}},
	}
	b.append(rec)
	r := krunctl(t, "convert", "--to", "csv", "--iterations", "3", b.dir())
	head, row, _ := strings.Cut(r.stdout, "\n")
	must.Be(t, strings.HasSuffix(head, ",wall_s,user_wall_ns,cycles,user_cycles,outcome") &&
		strings.HasSuffix(row, ",4,18446744073709551615,-6,1\n"), r.text())
	if r := krunctl(t, "convert", "--to", "csv", "--iterations", "2", b.dir()); !strings.HasSuffix(r.stdout,
		",3,,-7,1\n") {
		t.Error(r.text())
	}
	r = krunctl(t, "convert", "--to", "jsonl", "--iterations", "1", b.dir())
	if !strings.HasSuffix(r.stdout, `"user_wall_ns":2,"cycles":6,"user_cycles":null,"outcome":1}`+"\n") {
		t.Error(r.text())
	}
}

func TestExportOfADamagedRecord(t *testing.T) {
	b := complete(t)
	whole := krunctl(t, "convert", "--to", "csv", b.dir()).stdout
	b.flip(b.recordPath(0, 1), 60)
	r := krunctl(t, "convert", "--to", "csv", b.dir())
	must.Be(t, r.code == exitLeftOut && strings.Count(r.stderr, "0000000-001") == 1, r.text())
	for line := range strings.Lines(whole) {
		gone := strings.HasPrefix(line, "nbody,C,default-c,1,")
		must.Be(t, strings.Contains(r.stdout, line) != gone, "line", line, "gone", gone)
	}
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
