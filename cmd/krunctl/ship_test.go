package main

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"krund/internal/durable"
	"krund/internal/experiment/directory"
	"krund/internal/experiment/results"
	"krund/internal/hub/access"
	"krund/internal/hub/hubtest"
	"krund/internal/hub/joined"
	"krund/internal/hub/ship"
	"krund/rig/must"
)

// shipTo returns an environment of krunctl that has joined the hub at the address. The deadline is
// long unless a test waits for its end.
func shipTo(t *testing.T, url, token, deadline string) *app {
	t.Helper()
	a := testApp(t)
	a.state = t.TempDir()
	h := joined.Hub{URL: url, Token: token, Deadline: deadline}
	must.Do(t, h.Store(durable.OS(), a.hubFile))
	return a
}

func TestShipAndJoin(t *testing.T) {
	h := hubtest.New(t)
	token := h.Client(t, "", access.Join).Token
	a := shipTo(t, "http://127.0.0.1:1", "", "5m")
	a.uid = 0
	a.systemctl = func(_ context.Context, args ...string) error {
		must.Equal(t, strings.Join(args, " "), "enable --now krund-ship.timer", "systemctl")
		return nil
	}
	a.stdin = strings.NewReader(token + "\n")
	runApp(a, "hub", "join", h.URL, "--token-file", "-", "--name", "lab1").says(t, exitOK, "", "")
	b := newExperiment(t)
	b.run(results.Completed)
	b.run(results.Error, "exit status 1")
	a.uid = 1000
	defer func() { // now the machine was seen
		a.uid, a.stdin = 0, strings.NewReader(token)
		args := []string{"hub", "join", h.URL, "--token", "-", "--name", "lab1"}
		r := runApp(a, args...)
		r.says(t, exitError, "", `machine "lab1" (`)
		r.says(t, exitError, "", "was seen last at 2026-11-21T12:00:00Z and runs an experiment; if")
		a.stdin = strings.NewReader(token)
		runApp(a, append(args, "--replace")...).says(t, exitOK, "", "takes the place of machine")
		hub, err := joined.Load(a.fsys, a.hubFile)
		must.Be(t, err == nil && hub.Deadline == "5m", "the deadline of the owner became", hub.Deadline, err)
	}()
	ask := func(request string) {
		must.Do(t, h.DB.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `UPDATE shares SET request = $1`, request)
			return err
		}))
	}
	runApp(a, "hub", "ship", b.dir()).says(t, exitOK, "2 records", "")
	ask("hold")
	runApp(a, "hub", "ship", b.dir()).says(t, exitOK, "", "")
	if held, err := b.directory.Asked(directory.Hold); !held {
		t.Errorf("the hub's request to hold was not followed: %v", err)
	}
	ask("resume")
	runApp(a, "hub", "ship", b.dir()).says(t, exitOK, "", "")
	if held, err := b.directory.Asked(directory.Hold); held {
		t.Errorf("the hub's request to resume was not followed: %v", err)
	}
	m, err := h.DB.Machine(t.Context(), "lab1")
	must.Be(t, err == nil && strings.Contains(m.Facts, `"cpu.model":"Intel`) &&
		!strings.Contains(m.Facts, "cpu.flags"), m.Facts, err)
	experiments, err := h.DB.Experiments(t.Context(), 10)
	must.Need(t, err == nil && len(experiments) == 1 && experiments[0].Name == "test", experiments, err)
	shares, err := h.DB.Shares(t.Context(), experiments[0].ID)
	must.Be(t, err == nil && len(shares) == 1 &&
		strings.Contains(shares[0].Status, `"completed":1,"failed":1`), shares, err)
}

// TestShipToNothing ships to a hub that is not there: it ends at the deadline, and what is to be
// shipped is remembered.
func TestShipToNothing(t *testing.T) {
	dead := httptest.NewServer(nil)
	dead.Close()
	a := shipTo(t, dead.URL, "x", "1ns")
	b := newExperiment(t)
	b.run(results.Completed)
	runApp(a, "hub", "ship", b.dir()).says(t, exitError, "", "ask the hub at "+dead.URL)
	list := ship.KnownAt(durable.OS(), a.state).Directories()
	must.Be(t, len(list) == 1 && list[0] == b.dir(), "remembered", list)
}

// TestShipRemembersWithoutHub: what a machine has to ship is not forgotten while hub.toml is
// missing, and forgotten when its directory was removed.
func TestShipRemembersWithoutHub(t *testing.T) {
	a := testApp(t)
	a.state = t.TempDir()
	a.runtime = []string{t.TempDir()}
	known := ship.KnownAt(durable.OS(), a.state)
	kept := newExperiment(t).dir()
	for _, dir := range []string{kept, filepath.Join(t.TempDir(), "removed.krun")} {
		must.Do(t, known.Add(dir))
	}
	runApp(a, "hub", "ship").says(t, exitError, "", "has not joined a hub")
	list := known.Directories()
	must.Be(t, len(list) == 1 && list[0] == kept, "remembered", list, "want", kept)
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
	runApp(a, "hub", "wait", "--timeout", "1ns", "--hub", silent.URL, "x").says(t, exitWaiting, "",
		"has not ended within 1ns")
}

// TestShipHostileDirectory: the account of a benchmark owns the directory, or a link in it, and
// wants to see a file of root on the hub's pages, such as the machine's token. Root sends nothing
// of such a directory and changes nothing through it.
func TestShipHostileDirectory(t *testing.T) {
	must.Root(t, "needs root, whose files are to be stolen")
	h := hubtest.New(t)
	token := h.Machine(t, "lab1").Token
	const benchmark = 65534 // uid
	for _, name := range []string{"noise.json", "decisions.json", "log", "hub.json", "results"} {
		for _, owner := range []int{0, benchmark} {
			a := shipTo(t, h.URL, token, "1s")
			a.uid, a.fsys = 0, durable.OS()
			b := newExperiment(t)
			b.run(results.Completed)
			target := filepath.Join(b.dir(), name)
			b.must(os.RemoveAll(target))
			b.must(os.Symlink(a.hubFile, target))
			b.must(filepath.WalkDir(b.dir(), func(path string, _ os.DirEntry, err error) error {
				b.must(err)
				return os.Lchown(path, owner, owner)
			}))
			before, err := os.ReadFile(a.hubFile)
			b.must(err)
			runApp(a, "hub", "ship", b.dir()).says(t, exitError, "", "", name, owner)
			after, err := os.ReadFile(a.hubFile)
			must.Be(t, err == nil && string(after) == string(before), name, owner, "hub.toml became", after,
				err)
			list, err := h.DB.Experiments(t.Context(), 10)
			must.Need(t, err == nil && len(list) <= 0, name, owner, "the hub", list, err)
		}
	}
}

// TestShipElsewhere: hub.json in the directory names another hub, which gets nothing: the address
// and the token are those of hub.toml.
func TestShipElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request to %s with %q", r.URL, r.Header)
	}))
	defer elsewhere.Close()
	h := hubtest.New(t)
	a := shipTo(t, h.URL, h.Machine(t, "lab1").Token, "5m")
	b := newExperiment(t)
	b.run(results.Completed)
	writeText(t, filepath.Join(b.dir(), "hub.json"),
		`{"format":1,"hub":"`+elsewhere.URL+`","experiment":"x",`+
			`"given":true,"deleted":true,"files":{},"received":[{"attempt":1,"from":0,"to":99}]}`)
	runApp(a, "hub", "ship", b.dir()).says(t, exitOK, "", "")
	list, err := h.DB.Experiments(t.Context(), 10)
	must.Need(t, err == nil && len(list) == 1 && list[0].ID != "x", "the hub of hub.toml", list, err)
	rows, err := h.DB.Records(t.Context(), list[0].ID, "", 0, 10)
	must.Be(t, err == nil && len(rows) == 1, "it has", len(rows), "records", err)
}
