package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/reading/summary"
	"krund/internal/schedule"
	"krund/rig/must"
)

// TestStatusAfterACrash: an execution on which no krund works is not called running.
func TestStatusAfterACrash(t *testing.T) {
	b := mixed(t)
	begun := testTime.Add(-time.Hour)
	b.must(os.Chtimes(b.directory.Schedule(), begun, begun))
	ended := exec.CommandContext(t.Context(), "true")
	b.must(ended.Run())
	status := func() (string, summary.Status) {
		t.Helper()
		var st summary.Status
		text, document := krunctl(t, "status", b.dir()), krunctl(t, "status", "--format", "json", b.dir())
		must.Need(t, text.code == exitOK && document.code == exitOK, text.text(), document.text())
		b.must(json.Unmarshal([]byte(document.stdout), &st))
		return text.stdout, st
	}
	takenBy := func(pid int, host string) {
		t.Helper()
		lock, err := b.directory.Lock(pid, host)
		b.must(err)
		b.must(lock.Release())
	}
	wantRunning := func(when string) {
		t.Helper()
		text, st := status()
		must.Be(t, st.Interrupted == nil && strings.Contains(text, "\nrunning ") &&
			strings.Contains(text, "1 running"), when, text)
	}
	wantRunning("its krund is unknown")
	takenBy(ended.Process.Pid, "other")
	wantRunning("by a krund of another machine")
	takenBy(ended.Process.Pid, "bencher7")
	text, st := status()
	must.Be(t, st.Running != nil && st.Interrupted != nil && st.Interrupted.Begun.Equal(begun) &&
		!strings.Contains(text, "running") && strings.Contains(text, "1 interrupted") &&
		strings.Contains(text,
			"started 2026-11-21T11:00:00Z, no krund works on it; the next one runs it again"),
		"after a crash", st.Interrupted, text)
	slot, err := b.sched.Current()
	b.must(err)
	b.append(b.record(slot, results.Completed))
	text, _ = status()
	must.Contain(t, text, "its record is complete, and the next krund closes the slot",
		"crash between record and slot")
	lock, err := b.directory.Lock(os.Getpid(), "bencher7")
	b.must(err)
	wantRunning("a krund has it")
	b.must(lock.Release())
}

// TestStatusOfAReusedNumber: another process has got the number of the krund that was killed.
func TestStatusOfAReusedNumber(t *testing.T) {
	if _, err := os.Stat("/proc/locks"); err != nil {
		t.Skip("the system does not list locks")
	}
	b := mixed(t)
	other := exec.CommandContext(t.Context(), "sleep", "60")
	b.must(other.Start())
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	lock, err := b.directory.Lock(other.Process.Pid, "bencher7")
	b.must(err)
	b.must(lock.Release())
	r := krunctl(t, "status", b.dir())
	must.Contain(t, r.stdout, "interrupted", r.text())
}

// TestStatusWhileStarting: before krund has made the schedule, status shows the plan.
func TestStatusWhileStarting(t *testing.T) {
	b := newExperiment(t)
	b.must(os.Remove(b.directory.Schedule()))
	status := func() summary.Status {
		t.Helper()
		var st summary.Status
		text, document := krunctl(t, "status", "--by", "key", b.dir()), krunctl(t, "status", "--format",
			"json", b.dir())
		must.Need(t, text.code == exitOK && document.code == exitOK &&
			!strings.Contains(text.stdout, "created"), text.text(), document.text())
		b.must(json.Unmarshal([]byte(document.stdout), &st))
		return st
	}
	st := status()
	must.Be(t, st.State == summary.StateNew && st.Slots.Outstanding == b.cfg.Slots() &&
		len(st.Keys) == len(b.cfg.Keys()), "no krund works on it", st)
	lock, err := b.directory.Lock(os.Getpid(), "bencher7")
	b.must(err)
	st = status()
	must.Equal(t, st.State, summary.StateStarting, "krund works on it", st)
	b.must(lock.Release())
	b.must(os.WriteFile(b.directory.Results()+"/0000000-001.json.gz", nil, 0o644))
	krunctl(t, "status", b.dir()).says(t, exitError, "", "repair", "a schedule that was lost")
}

// TestRepeatedFailures: equal failures at the end of what was run, and keys that were given up.
func TestRepeatedFailures(t *testing.T) {
	const end = "note         the last 4 executions failed, and at least 3 of them in the same way: "
	for _, c := range []struct {
		reasons [4]string
		says    bool
	}{
		{[4]string{"exit status 1", "disk full: 12 KiB left", "disk full: 8 KiB left", "disk full: 0 left"},
			true},
		{[4]string{"disk full", "disk full", "killed", "disk full"}, false},
	} {
		b := newExperiment(t)
		for range 4 {
			b.run(results.Completed)
		}
		for _, why := range c.reasons {
			b.run(results.Error, strings.ReplaceAll(why, "0 left", "0 KiB left"))
		}
		r := krunctl(t, "status", b.dir())
		must.Be(t, strings.Contains(r.stdout, end) == c.says && !strings.Contains(r.stdout, "given up"),
			r.text())
	}
	b := newExperiment(t)
	b.run(results.Completed)
	b.run(results.Error, "exit status 1")
	for range 3 {
		b.run(results.Completed)
	}
	slot := must.Get(b.sched.Current())(t)
	b.must(b.sched.Finish(slot, schedule.Skipped))
	r := krunctl(t, "status", b.dir())
	must.Contain(t, r.stdout, "fasta:C:default-c was given up after 1 failure (experiment.give_up)")
}
