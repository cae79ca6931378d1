package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/report/console"
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
		lock := must.Get(b.directory.Lock(pid, host))(t)
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
	slot := must.Get(b.sched.Current())(t)
	b.append(b.record(slot, results.Completed))
	text, _ = status()
	must.Contain(t, text, "its record is complete, and the next krund closes the slot",
		"crash between record and slot")
	lock := must.Get(b.directory.Lock(os.Getpid(), "bencher7"))(t)
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
	lock := must.Get(b.directory.Lock(other.Process.Pid, "bencher7"))(t)
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
	lock := must.Get(b.directory.Lock(os.Getpid(), "bencher7"))(t)
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

// TestServeStatus: the page has no scripts, shows the status and escapes it. Nothing else exists.
func TestServeStatus(t *testing.T) {
	b := newExperimentOf(t, strings.Replace(experimentText, "executions = 2",
		"executions = 2\nname = \"test\"\ndescription = \"<script>\"", 1))
	b.run(results.Error, "it printed <script>alert(1)</script>")
	f := must.Get(experiment.Open(b.directory.FS(), b.dir()))(t)
	now := time.Unix(1e9, 0)
	a := &app{host: "bencher7", fsys: b.directory.FS(), now: func() time.Time { return now }}
	server := &console.Server{Now: a.now, Every: watchEvery,
		Status: func() (summary.Status, error) { return a.statusOf(f) },
		Text:   func(st summary.Status) string { return a.statusText(st, false) }}
	ask := func(method, host, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		q := httptest.NewRequest(method, path, nil)
		q.Host = host
		server.ServeHTTP(w, q)
		return w
	}
	for _, test := range []struct {
		method, host, path string
		status             int
		want, absent       string
	}{
		{"GET", "127.0.0.1:80", "/", 200, "it printed &lt;script&gt;alert(1)", "<script>"},
		{"GET", "[::1]:8", "/", 200, `<meta http-equiv="refresh" content="5">`, "<script>"},
		{"GET", "localhost:8", "/status.json", 200, `"state":"unfinished"`, ""},
		{"GET", "evil.example", "/", 403, "ask for the address", "bencher7"},
		{"POST", "127.0.0.1", "/", 405, "only GET", "bencher7"},
		{"GET", "127.0.0.1", "/../etc/passwd", 404, "not found", "root"},
	} {
		w := ask(test.method, test.host, test.path)
		body := w.Body.String()
		must.Be(t, w.Code == test.status && strings.Contains(body, test.want) && (test.absent == "" ||
			!strings.Contains(body, test.absent)), test.method, test.host, test.path, "status", w.Code, body)
		must.Be(t, strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'"),
			test.path, "headers", w.Header())
	}
	before := ask(http.MethodGet, "127.0.0.1", "/status.json").Body.String()
	b.run(results.Completed)
	must.Equal(t, ask(http.MethodGet, "127.0.0.1", "/status.json").Body.String(), before,
		"it looks more than once in a second")
	now = now.Add(time.Second)
	later := ask(http.MethodGet, "127.0.0.1", "/status.json").Body.String()
	must.Be(t, later != before, "it does not look again")
}

// TestWatch: a finished experiment is shown once.
func TestWatch(t *testing.T) {
	b := newExperiment(t)
	for range b.cfg.Slots() {
		b.run(results.Completed)
	}
	f := must.Get(experiment.Open(b.directory.FS(), b.dir()))(t)
	var out bytes.Buffer
	a := &app{host: "bencher7", fsys: b.directory.FS(), now: time.Now, terminal: &out}
	b.must(a.watch(t.Context(), f, statusOptions{watch: true}))
	must.Be(t, strings.Count(out.String(), "state        finished") == 1 &&
		!strings.Contains(out.String(), "\x1b"), out.String())
	for _, wrong := range []string{"8080", ":8080", "no.such.host.invalid:0"} {
		must.Refuse(t, a.serve(t.Context(), f, statusOptions{serve: wrong}), "", wrong, "is served")
	}
}

// TestServeWarns: an address that others can reach is served with a warning, the loopback without.
func TestServeWarns(t *testing.T) {
	b := newExperiment(t)
	f := must.Get(experiment.Open(b.directory.FS(), b.dir()))(t)
	for address, want := range map[string]bool{"127.0.0.1:0": false, "[::1]:0": false, "0.0.0.0:0": true} {
		var out, warned bytes.Buffer
		a := &app{host: "bencher7", fsys: b.directory.FS(), now: time.Now, terminal: &out, stderr: &warned}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it begins, and ends at once
		err := a.serve(ctx, f, statusOptions{serve: address})
		if err != nil && address == "[::1]:0" {
			t.Logf("no IPv6 here: %v", err)
			continue
		}
		must.Be(t, err == nil && strings.Contains(warned.String(),
			"everyone in the network can read") == want, address, err, warned.String())
	}
}

// TestStatusOneWay: options that exclude each other are wrong usage, in words of this program.
func TestStatusOneWay(t *testing.T) {
	krunctl(t, "status", "--watch", "--format", "json", "x.krun").says(t, exitUsage, "",
		"--watch cannot be combined with --format")
}
