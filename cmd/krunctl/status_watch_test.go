package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"krund/internal/experiment/results"
	"krund/internal/reading/experiment"
	"krund/internal/reading/summary"
	"krund/internal/report/live"
	"krund/rig/must"
)

// TestServeStatus: the page has no scripts, shows the status and escapes it. Nothing else exists.
func TestServeStatus(t *testing.T) {
	b := newExperimentOf(t, strings.Replace(experimentText, "executions = 2",
		"executions = 2\nname = \"test\"\ndescription = \"<script>\"", 1))
	b.run(results.Error, "it printed <script>alert(1)</script>")
	f, err := experiment.Open(b.directory.FS(), b.dir())
	b.must(err)
	now := time.Unix(1e9, 0)
	a := &app{host: "bencher7", fsys: b.directory.FS(), now: func() time.Time { return now }}
	server := &live.Server{Now: a.now, Every: watchEvery,
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
	f, err := experiment.Open(b.directory.FS(), b.dir())
	b.must(err)
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
	f, err := experiment.Open(b.directory.FS(), b.dir())
	b.must(err)
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
