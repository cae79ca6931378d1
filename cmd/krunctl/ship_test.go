package main

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"krund/internal/control"
	"krund/internal/control/machines"
	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/access"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/joined"
	"krund/internal/hub/ship"
	"krund/internal/machine/sysroot"
	"krund/rig/must"
)

func testApp(t *testing.T) *app {
	t.Helper()
	return &app{stdin: strings.NewReader(""), now: func() time.Time { return testTime }, host: "bencher7",
		fsys: lax(), uid: 1000, machine: func(ctx context.Context) *control.Machine {
			return control.NewMachine(ctx, sysroot.New(machines.New(t, "intel-pstate-active")))
		}}
}

func runApp(a *app, args ...string) (code int, stdout, stderr string) {
	var out, messages bytes.Buffer
	a.stderr = &messages
	code = runIn(a, args, &out)
	return code, out.String(), messages.String()
}

// shipTo returns an environment of krunctl that has joined the hub at the address.
func shipTo(t *testing.T, url, token string) *app {
	t.Helper()
	a := testApp(t)
	a.hubFile = filepath.Join(t.TempDir(), "hub.toml")
	a.state = t.TempDir()
	h := joined.Hub{URL: url, Token: token, Deadline: "1s"}
	must.Do(t, h.Store(durable.OS(), a.hubFile))
	return a
}

func TestShipAndJoin(t *testing.T) {
	h := hubtest.New(t)
	token := h.Client(t, "", access.Join).Token
	a := shipTo(t, "http://127.0.0.1:1", "")
	a.uid = 0
	a.systemctl = func(_ context.Context, args ...string) error {
		must.Equal(t, strings.Join(args, " "), "enable --now krund-ship.timer", "systemctl")
		return nil
	}
	a.stdin = strings.NewReader(token + "\n")
	if code, _, stderr := runApp(a, "hub", "join", h.URL, "--token-file", "-", "--name", "lab1"); code != 0 {
		t.Fatal(stderr)
	}
	b := newExperiment(t)
	b.run(results.Completed)
	b.run(results.Error, "exit status 1")
	a.uid = 1000
	defer func() { // now the machine was seen
		a.uid, a.stdin = 0, strings.NewReader(token)
		args := []string{"hub", "join", h.URL, "--token", "-", "--name", "lab1"}
		code, _, stderr := runApp(a, args...)
		if code != exitError || !strings.Contains(stderr, `machine "lab1" (`) ||
			!strings.Contains(stderr, "was seen last at 2026-11-21T12:00:00Z and runs an experiment; if") {
			t.Errorf("%d %s", code, stderr)
		}
		a.stdin = strings.NewReader(token)
		code, _, stderr = runApp(a, append(args, "--replace")...)
		must.Be(t, code == exitOK && strings.Contains(stderr, "takes the place of machine"), code, stderr)
		if hub, err := joined.Load(a.fsys, a.hubFile); err != nil || hub.Deadline != "1s" {
			t.Errorf("the deadline of the owner became %q, %v", hub.Deadline, err)
		}
	}()
	ask := func(request string) {
		must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `UPDATE shares SET request = $1`, request)
			return err
		}))
	}
	code, stdout, stderr := runApp(a, "hub", "ship", b.dir())
	must.Need(t, code == 0 && strings.Contains(stdout, "2 records"), code, stdout, stderr)
	ask("hold")
	if code, _, stderr := runApp(a, "hub", "ship", b.dir()); code != 0 {
		t.Fatal(stderr)
	}
	if held, err := b.directory.Asked(directory.Hold); !held {
		t.Errorf("the hub's request to hold was not followed: %v", err)
	}
	ask("resume")
	if code, _, stderr := runApp(a, "hub", "ship", b.dir()); code != 0 {
		t.Fatal(stderr)
	}
	if held, err := b.directory.Asked(directory.Hold); held {
		t.Errorf("the hub's request to resume was not followed: %v", err)
	}
	m, err := h.DB.Machine(t.Context(), "lab1")
	if err != nil || !strings.Contains(m.Facts, `"cpu.model":"Intel`) || strings.Contains(m.Facts,
		"cpu.flags") {
		t.Errorf("%s, %v", m.Facts, err)
	}
	experiments, err := h.DB.Experiments(t.Context(), 10)
	must.Need(t, err == nil && len(experiments) == 1 && experiments[0].Name == "test", experiments, err)
	shares, err := h.DB.Shares(t.Context(), experiments[0].ID)
	if err != nil || len(shares) != 1 || !strings.Contains(shares[0].Status, `"completed":1,"failed":1`) {
		t.Errorf("%+v, %v", shares, err)
	}
}

// TestShipToNothing ships to a hub that is not there: it ends at the deadline, and what is to be
// shipped is remembered.
func TestShipToNothing(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	a := shipTo(t, dead.URL, "x")
	b := newExperiment(t)
	b.run(results.Completed)
	code, _, stderr := runApp(a, "hub", "ship", b.dir())
	must.Be(t, code == 1 && strings.Contains(stderr, "ask the hub at "+dead.URL), code, stderr)
	list := ship.KnownAt(durable.OS(), a.state).Directories()
	must.Be(t, len(list) == 1 && list[0] == b.dir(), "remembered", list)
}

func TestShipWithoutHub(t *testing.T) {
	a := testApp(t)
	a.hubFile = filepath.Join(t.TempDir(), "hub.toml")
	code, _, stderr := runApp(a, "hub", "ship", newExperiment(t).dir())
	must.Be(t, code == 1 && strings.Contains(stderr, "has not joined a hub"), code, stderr)
}

// TestShipRemembersWithoutHub: what a machine has to ship is not forgotten while hub.toml is
// missing, and forgotten when its directory was removed.
func TestShipRemembersWithoutHub(t *testing.T) {
	a := testApp(t)
	a.hubFile, a.state = filepath.Join(t.TempDir(), "hub.toml"), t.TempDir()
	a.runtime = []string{t.TempDir()}
	known := ship.KnownAt(durable.OS(), a.state)
	kept := newExperiment(t).dir()
	for _, dir := range []string{kept, filepath.Join(t.TempDir(), "removed.krun")} {
		must.Do(t, known.Add(dir))
	}
	if code, _, stderr := runApp(a, "hub", "ship"); code != 1 || !strings.Contains(stderr,
		"has not joined a hub") {
		t.Errorf("%d %s", code, stderr)
	}
	if list := known.Directories(); len(list) != 1 || list[0] != kept {
		t.Errorf("remembered: %q, want %s", list, kept)
	}
}

// TestWaitForSilentHub: a hub that accepts a request and does not answer does not outlast
// --timeout.
func TestWaitForSilentHub(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer silent.Close()
	a := testApp(t)
	a.env = func(name string) string { return map[string]string{"KRUNHUB_TOKEN": "x"}[name] }
	code, _, stderr := runApp(a, "hub", "wait", "--timeout", "1ns", "--hub", silent.URL, "x")
	must.Be(t, code == 4 && strings.Contains(stderr, "has not ended within 1ns"), code, stderr)
}
